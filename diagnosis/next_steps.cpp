#include "diagnosis/next_steps.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "diagnosis/consequences.h"

namespace ocrtune {
namespace {

constexpr double kSettled = 0.93;
constexpr double kStillSuspect = 0.12;
constexpr std::size_t kMaxSteps = 3;

// Suspects that the same lines leave open although nothing speaks for the second one.
struct Rival {
  std::string_view cause, rivals;  // these between blanks
};
constexpr Rival kRivals[] = {
    {"host_out_of_memory", " killed_by_other cgroup_out_of_memory "},
    {"killed_by_other", " host_out_of_memory "},
    {"nccl_init_hang", " nccl_p2p_broken "},
    {"collective_timeout", " rank_busy_alone nccl_p2p_broken storage_failure "},
    {"communication_stall", " nccl_p2p_broken "},
    {"terminated_from_outside", " preempted_or_evicted "},
    {"peer_lost", " host_out_of_memory "},
    {"loader_worker_failed", " host_out_of_memory "},
    {"segmentation_fault", " shm_full "},
    {"rendezvous_failed", " port_in_use nccl_network not_scheduled "},
    {"gpu_kernel_fault", " gpu_fault "},
    {"not_scheduled", " container_setup_failed "},
    {"container_setup_failed", " no_gpu_visible "},
    {"image_pull_failed", " access_refused "},
    {"remote_unreachable", " access_refused "},
    {"access_refused", " clock_wrong "},
    {"tls_failed", " clock_wrong "},
    {"clock_wrong", " tls_failed "},
    {"request_too_large", " remote_unreachable "},
    {"health_check_failed", " host_out_of_memory "},
    {"stalled", " health_check_failed "},
    {"driver_mismatch", " no_gpu_visible "},
    {"no_gpu_visible", " driver_mismatch "},
    {"gpu_busy", " gpu_out_of_memory "},
    {"gpu_out_of_memory", " gpu_busy "},
    {"checkpoint_refused", " checkpoint_damaged "},
    {"shape_mismatch", " bad_configuration "},
    {"library_conflict", " bad_configuration "},
    {"bad_configuration", " library_conflict "},
    {"host_hardware_fault", " segmentation_fault "},
    {"preempted_or_evicted", " host_hardware_fault "},
};

bool rivals(std::string_view cause, std::string_view other) {
  return std::any_of(std::begin(kRivals), std::end(kRivals), [&](const Rival& row) {
    return row.cause == cause && listed(row.rivals, other);
  });
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<NextStep>& next_step_table() {
  static const std::vector<NextStep> kTable = {
      {"kernel_kill", "host_out_of_memory", "killed_by_other",
       "dmesg -T | grep -iE 'oom-kill|killed process'"},
      {"group_kill", "cgroup_out_of_memory", "host_out_of_memory",
       "grep -HE '^(max|oom|oom_kill) ' /sys/fs/cgroup/memory.events "
       "/sys/fs/cgroup/*/memory.events"},
      {"group_or_other", "cgroup_out_of_memory", "killed_by_other",
       "grep -HE '^(max|oom|oom_kill) ' /sys/fs/cgroup/memory.events "
       "/sys/fs/cgroup/*/memory.events"},
      {"p2p_ladder", "nccl_p2p_broken", "nccl_init_hang", "ocrtune p2p"},
      {"p2p_ladder", "nccl_p2p_broken", "collective_timeout", "ocrtune p2p"},
      {"p2p_ladder", "nccl_p2p_broken", "communication_stall", "ocrtune p2p"},
      {"p2p_ladder", "nccl_p2p_broken", "nccl_error", "ocrtune p2p"},
      {"where_it_waits", "rank_busy_alone", "collective_timeout", "py-spy dump --pid PID"},
      {"kernel_storage", "storage_failure", "collective_timeout",
       "dmesg -T | grep -iE 'not responding|blocked for more|lustre|ceph'"},
      {"kernel_storage", "storage_failure", "loader_timeout",
       "dmesg -T | grep -iE 'not responding|blocked for more|lustre|ceph'"},
      {"collective_names", "rank_mismatch", "collective_timeout",
       "TORCH_DISTRIBUTED_DEBUG=DETAIL CMD"},
      {"scheduler", "preempted_or_evicted", "terminated_from_outside",
       "sacct -j JOB --format=State,ExitCode,Reason; kubectl describe pod NAME"},
      {"scheduler", "preempted_or_evicted", "killed_by_other",
       "sacct -j JOB --format=State,ExitCode,Reason; kubectl describe pod NAME"},
      {"shm_space", "shm_full", "host_out_of_memory", "df -h /dev/shm"},
      {"shm_space", "shm_full", "segmentation_fault", "df -h /dev/shm"},
      {"card_memory", "gpu_out_of_memory", "cuda_library_error",
       "nvidia-smi --query-gpu=memory.used,memory.total --format=csv -l 1"},
      {"list_images", "missing_file", "bad_training_data", "ls -l IMAGE"},
      {"one_process", "loader_worker_failed", "host_out_of_memory", "CMD with num_workers=0"},
      {"one_process", "python_exception", "loader_worker_failed", "CMD with num_workers=0"},
      {"peer_kernel", "host_out_of_memory", "peer_lost",
       "ssh PEER dmesg -T | grep -iE 'oom-kill|killed process'"},
      {"port_owner", "port_in_use", "rendezvous_failed", "ss -ltnp | grep PORT"},
      {"port_reach", "nccl_network", "rendezvous_failed", "nc -zv MASTER PORT"},
      {"card_health", "gpu_fault", "gpu_kernel_fault",
       "dmesg -T | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER"},
      {"who_is_pending", "not_scheduled", "rendezvous_failed",
       "kubectl get pods -o wide; squeue -j JOB -o '%T %r'"},
      {"pod_events", "not_scheduled", "container_setup_failed",
       "kubectl describe pod NAME | sed -n '/^Events/,$p'"},
      {"pod_events", "not_scheduled", "image_pull_failed",
       "kubectl describe pod NAME | sed -n '/^Events/,$p'"},
      {"host_cards", "no_gpu_visible", "container_setup_failed", "nvidia-smi   # on the host"},
      {"host_cards", "driver_mismatch", "container_setup_failed", "nvidia-smi   # on the host"},
      {"module_version", "driver_mismatch", "no_gpu_visible",
       "cat /proc/driver/nvidia/version; nvidia-smi"},
      {"module_version", "driver_mismatch", "cuda_driver_too_old",
       "cat /proc/driver/nvidia/version; nvidia-smi"},
      {"pull_by_hand", "access_refused", "image_pull_failed", "crictl pull IMAGE"},
      {"pull_by_hand", "access_refused", "remote_unreachable", "curl -sSI URL"},
      {"pull_from_registry", "remote_unreachable", "image_pull_failed", "crictl pull IMAGE"},
      {"date_and_sync", "clock_wrong", "access_refused",
       "date -u; timedatectl show -p NTPSynchronized"},
      {"date_and_sync", "clock_wrong", "tls_failed",
       "date -u; timedatectl show -p NTPSynchronized"},
      {"handshake", "tls_failed", "remote_unreachable",
       "openssl s_client -connect HOST:443 </dev/null | grep -i verif"},
      {"small_request", "request_too_large", "remote_unreachable",
       "curl -sS -F file=@SMALL_IMAGE URL"},
      {"kernel_kill", "host_out_of_memory", "health_check_failed",
       "dmesg -T | grep -iE 'oom-kill|killed process'"},
      {"last_state", "cgroup_out_of_memory", "health_check_failed",
       "kubectl describe pod NAME | grep -A4 'Last State'"},
      {"start_seconds", "health_check_failed", "stalled",
       "curl --retry 99 --retry-connrefused -sS http://HOST:PORT/health   # with the check off"},
      {"start_seconds", "health_check_failed", "time_limit",
       "curl --retry 99 --retry-connrefused -sS http://HOST:PORT/health   # with the check off"},
      {"card_processes", "gpu_busy", "gpu_out_of_memory",
       "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"},
      {"card_processes", "gpu_busy", "no_gpu_visible",
       "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"},
      {"load_trusted", "checkpoint_refused", "checkpoint_damaged",
       "python -c 'import torch; torch.load(\"FILE\", weights_only=False)'   # a file you trust"},
      {"given_shapes", "shape_mismatch", "checkpoint_mismatch",
       "CMD without the pretrained weights"},
      {"given_shapes", "shape_mismatch", "bad_configuration",
       "CMD with the model's default configuration"},
      {"fresh_environment", "library_conflict", "bad_configuration",
       "CMD in a new environment with the versions that the model's page names"},
      {"event_log", "host_hardware_fault", "segmentation_fault",
       "ipmitool sel list; ras-mc-ctl --errors; journalctl -k -b -1 | grep -iE 'mce|edac'"},
      {"event_log", "host_hardware_fault", "preempted_or_evicted",
       "ipmitool sel list; ras-mc-ctl --errors; journalctl -k -b -1 | grep -iE 'mce|edac'"},
  };
  return kTable;
}

std::vector<NextStep> next_steps(const std::vector<Cause>& causes,
                                 const std::vector<LogScan>& logs) {
  std::vector<NextStep> steps;
  if (causes.empty() || causes[0].confidence >= kSettled) return steps;
  const std::string_view first = causes[0].row->name;
  const auto suspect = [&](std::string_view name) {
    return rivals(first, name) ||
           std::any_of(causes.begin() + 1, causes.end(), [&](const Cause& cause) {
             return cause.row->name == name && cause.confidence >= kStillSuspect;
           });
  };
  const bool kernel_given = std::any_of(
      logs.begin(), logs.end(), [](const LogScan& log) { return log.kind == SourceKind::kernel; });
  for (const NextStep& row : next_step_table()) {
    if (steps.size() == kMaxSteps) break;
    const bool between =
        (first == row.first && suspect(row.second)) || (first == row.second && suspect(row.first));
    if (between && !(kernel_given && starts_with(row.command, "dmesg"))) steps.push_back(row);
  }
  return steps;
}

}  // namespace ocrtune
