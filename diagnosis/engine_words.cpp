// The key is the general words themselves. A change of a row elsewhere must be made here too, else
// the engine's own words are no longer found.
#include "diagnosis/engine_words.h"

#include <algorithm>

#include "diagnosis/context/source.h"

namespace ocrtune {
namespace {

constexpr const char* kLimit =
    "raise the limit: docker run --memory=64g | resources.limits.memory | sbatch --mem=64G";
constexpr const char* kShm =
    "docker run --shm-size=8g (or --ipc=host); Kubernetes: an emptyDir with medium: Memory";
constexpr const char* kPids = "docker run --pids-limit=-1";
constexpr const char* kInspect = "kubectl describe pod NAME; docker inspect NAME";
constexpr const char* kCreate = "create what is named, in the same namespace";
constexpr const char* kPlatform =
    "docker build --platform linux/amd64   # if it says exec format error";
constexpr const char* kState = "sacct -j JOB --format=State,ExitCode; kubectl describe pod NAME";
constexpr const char* kJobReason =
    "sacct -j JOB --format=State,ExitCode,Reason; kubectl describe pod NAME";
constexpr const char* kPending = "kubectl get pods -o wide, or squeue -j JOB -o '%T %r'";
constexpr const char* kNoPlace =
    "kubectl describe pod NAME; squeue -j JOB -o %r; sinfo -o '%n %G %m'";
constexpr const char* kEvents = "kubectl describe pod NAME | sed -n '/^Events/,$p'";
constexpr const char* kLastState = "kubectl describe pod NAME | grep -A4 'Last State'";
constexpr const char* kProbe =
    "kubectl describe pod NAME   # probe, delay and period; the time until the model is loaded";
constexpr const char* kNodes =
    "more nodes in cpuset.mems: docker run --cpuset-mems=0,1; systemctl set-property UNIT "
    "AllowedMemoryNodes=0-1";
constexpr const char* kPull = "docker pull IMAGE (or crictl pull IMAGE) on that node";
constexpr const char* kLogin = "imagePullSecrets, or docker login";
constexpr const char* kGpus = "docker run --gpus all";
constexpr const char* kSeccomp =
    "docker version; docker run --security-opt seccomp=unconfined IMAGE CMD   # once, to see";

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<EngineWords>& engine_words() {
  static const std::vector<EngineWords> kWords = {
      {kLimit, "docker", "raise the limit: docker run --memory=64g"},
      {kLimit, "podman", "raise the limit: podman run --memory=64g"},
      {kLimit, "kubernetes", "raise the limit: resources.limits.memory"},
      {kLimit, "slurm", "raise the limit: sbatch --mem=64G"},
      {kLimit, "lxc", "raise the limit: lxc config set NAME limits.memory 64GiB"},
      {kShm, "docker", "docker run --shm-size=8g   # or --ipc=host"},
      {kShm, "podman", "podman run --shm-size=8g   # or --ipc=host"},
      {kShm, "kubernetes", "an emptyDir with medium: Memory, mounted at /dev/shm"},
      {kShm, "slurm", ""},
      {kShm, "lxc", ""},
      {kPids, "podman", "podman run --pids-limit=-1"},
      {kPids, "kubernetes", "podPidsLimit of the kubelet's configuration"},
      {kPids, "slurm", ""},
      {kPids, "lxc", "lxc config unset NAME limits.processes"},
      {kInspect, "docker", "docker inspect NAME; docker logs NAME"},
      {kInspect, "podman", "podman inspect NAME; podman logs NAME"},
      {kInspect, "kubernetes", "kubectl describe pod NAME"},
      {kInspect, "slurm", "scontrol show job JOB"},
      {kInspect, "lxc", "lxc info NAME --show-log"},
      {kCreate, "docker", "create what is named: a volume, network, secret or device"},
      {kCreate, "podman", "create what is named: a volume, network, secret or device"},
      {kCreate, "slurm", "create what is named: a volume, network, secret or device"},
      {kCreate, "lxc", "create what is named: a volume, network, secret or device"},
      {kPlatform, "podman", "podman build --platform linux/amd64   # if it says exec format error"},
      {kState, "slurm", "sacct -j JOB --format=State,ExitCode"},
      {kState, "kubernetes", "kubectl describe pod NAME"},
      {kJobReason, "slurm", "sacct -j JOB --format=State,ExitCode,Reason"},
      {kJobReason, "kubernetes", "kubectl describe pod NAME"},
      {kPending, "slurm", "squeue -j JOB -o '%T %r'"},
      {kPending, "kubernetes", "kubectl get pods -o wide"},
      {kNoPlace, "slurm", "squeue -j JOB -o %r; sinfo -o '%n %G %m'"},
      {kNoPlace, "kubernetes", "kubectl describe pod NAME"},
      {kEvents, "docker", "docker events --since 1h --until 0s"},
      {kEvents, "podman", "podman events --since 1h --stream=false"},
      {kEvents, "slurm", "scontrol show job JOB"},
      {kEvents, "lxc", "lxc info NAME --show-log"},
      {kLastState, "docker", "docker inspect NAME --format '{{.State.OOMKilled}}'"},
      {kLastState, "podman", "podman inspect NAME --format '{{.State.OOMKilled}}'"},
      {kProbe, "docker", "docker inspect NAME --format '{{json .State.Health}}'"},
      {kProbe, "podman", "podman inspect NAME --format '{{json .State.Health}}'"},
      {kNodes, "docker", "more nodes in cpuset.mems: docker run --cpuset-mems=0,1"},
      {kNodes, "podman", "more nodes in cpuset.mems: podman run --cpuset-mems=0,1"},
      {kNodes, "slurm", "sbatch --mem-bind=none, with CPUs of more nodes"},
      {kPull, "docker", "docker pull IMAGE"},
      {kPull, "podman", "podman pull IMAGE"},
      {kPull, "kubernetes", "crictl pull IMAGE   # on that node"},
      {kLogin, "docker", "docker login"},
      {kLogin, "podman", "podman login"},
      {kLogin, "kubernetes", "imagePullSecrets"},
      {kGpus, "podman", "podman run --device nvidia.com/gpu=all"},
      {kGpus, "kubernetes", "resources.limits: nvidia.com/gpu: 1"},
      {kGpus, "slurm", "sbatch --gres=gpu:1"},
      {kGpus, "lxc", "lxc config device add NAME gpu gpu"},
      {kSeccomp, "podman",
       "podman run --security-opt seccomp=unconfined IMAGE CMD   # once, to see"},
      {kSeccomp, "kubernetes", "securityContext.seccompProfile.type: Unconfined   # once, to see"},
  };
  return kWords;
}

std::string_view engine_of(std::uint32_t programs) {
  const auto seen = [&](Program program) { return (programs & program) != 0; };
  // Podman pulls from docker.io, and a pod's events name the engine below it.
  const bool docker = seen(kDocker) && !seen(kPodman) && !seen(kKubernetes) && !seen(kLxc);
  const std::pair<bool, std::string_view> rows[] = {{docker, "docker"},
                                                    {seen(kPodman), "podman"},
                                                    {seen(kKubernetes), "kubernetes"},
                                                    {seen(kSlurm), "slurm"},
                                                    {seen(kLxc), "lxc"}};
  std::string_view found;
  for (const auto& [is, name] : rows) {
    if (is && !found.empty()) return "";
    if (is) found = name;
  }
  return found;
}

const char* words_for(const char* general, std::string_view engine) {
  const auto& rows = engine_words();
  const auto own = std::ranges::find_if(rows, [&](const EngineWords& row) {
    return row.engine == engine && std::string_view(row.general) == general;
  });
  return own == rows.end() ? general : own->own;
}

}  // namespace ocrtune
