#include "diagnosis/next_steps.h"

#include <algorithm>
#include <string_view>

#include "diagnosis/consequences.h"

namespace ocrtune {
namespace {

constexpr double kSettled = 0.93;
constexpr double kStillSuspect = 0.12;
constexpr std::size_t kMaxSteps = 3;

// Suspects that the same lines leave open although nothing speaks for the second one.
struct Rival {
  std::string_view cause, rival;
};
constexpr Rival kRivals[] = {
    {"host_out_of_memory", "killed_by_other"},
    {"host_out_of_memory", "cgroup_out_of_memory"},
    {"killed_by_other", "host_out_of_memory"},
    {"nccl_init_hang", "nccl_p2p_broken"},
    {"collective_timeout", "rank_busy_alone"},
    {"collective_timeout", "nccl_p2p_broken"},
    {"collective_timeout", "storage_failure"},
    {"communication_stall", "nccl_p2p_broken"},
    {"terminated_from_outside", "preempted_or_evicted"},
    {"peer_lost", "host_out_of_memory"},
    {"loader_worker_failed", "host_out_of_memory"},
    {"segmentation_fault", "shm_full"},
    {"rendezvous_failed", "port_in_use"},
    {"rendezvous_failed", "nccl_network"},
    {"gpu_kernel_fault", "gpu_fault"},
};

bool rivals(std::string_view cause, std::string_view other) {
  return std::any_of(std::begin(kRivals), std::end(kRivals),
                     [&](const Rival& row) { return row.cause == cause && row.rival == other; });
}

}  // namespace

const std::vector<NextStep>& next_step_table() {
  static const std::vector<NextStep> kTable = {
      {"kernel_kill", "host_out_of_memory", "killed_by_other",
       "dmesg -T | grep -iE 'oom-kill|killed process'"},
      {"group_kill", "cgroup_out_of_memory", "host_out_of_memory",
       "grep -H oom_kill /sys/fs/cgroup/memory.events /sys/fs/cgroup/*/memory.events"},
      {"group_or_other", "cgroup_out_of_memory", "killed_by_other",
       "grep -H oom_kill /sys/fs/cgroup/memory.events /sys/fs/cgroup/*/memory.events"},
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
  };
  return kTable;
}

std::vector<NextStep> next_steps(const std::vector<Cause>& causes) {
  std::vector<NextStep> steps;
  if (causes.empty() || causes[0].confidence >= kSettled) return steps;
  const std::string_view first = causes[0].row->name;
  const auto suspect = [&](std::string_view name) {
    return rivals(first, name) ||
           std::any_of(causes.begin() + 1, causes.end(), [&](const Cause& cause) {
             return cause.row->name == name && cause.confidence >= kStillSuspect;
           });
  };
  for (const NextStep& row : next_step_table()) {
    if (steps.size() == kMaxSteps) break;
    const bool between =
        (first == row.first && suspect(row.second)) || (first == row.second && suspect(row.first));
    if (between) steps.push_back(row);
  }
  // A suspect without a row of its own: what confirms the first cause tells them apart.
  for (auto other = causes.begin() + 1; other != causes.end() && steps.empty(); ++other) {
    const std::string_view name = other->row->name;
    if (other->row->kind == CauseKind::failure && other->confidence >= kStillSuspect &&
        !is_generic(first) && !is_generic(name) && !produces(first, name)) {
      steps.push_back(
          {"confirm_first", causes[0].row->name, other->row->name, causes[0].row->confirm});
    }
  }
  return steps;
}

}  // namespace ocrtune
