// The first suspect is compared with every other row of the table that names it. Words of the
// engine are put in before commands are compared, so that none is proposed twice.
#include "diagnosis/next_steps.h"

#include <algorithm>
#include <string_view>

#include "base/tables/rows.h"
#include "base/text.h"
#include "diagnosis/engine_words.h"

namespace ocrtune {
namespace {

// Guesses: above it a command is not worth its while, and below kStillSuspect no rival.
constexpr double kSettled = 0.93;
constexpr double kStillSuspect = 0.12;
constexpr std::size_t kMaxSteps = 3;

// Code, the two suspects (several of the second), for whom of them the command is worth its while
// although no line speaks for the other (what was seen leaves that open), and the command.
constexpr std::string_view kSteps = R"rows(
kernel_kill host_out_of_memory killed_by_other both dmesg -T | grep -iE 'oom-kill|killed process'
group_kill cgroup_out_of_memory host_out_of_memory others grep -rsE '^(max|oom|oom_kill) [1-9]' /sys/fs/cgroup --include='memory.[eo]*'
group_or_other cgroup_out_of_memory killed_by_other neither grep -rsE '^(max|oom|oom_kill) [1-9]' /sys/fs/cgroup --include='memory.[eo]*'
p2p_ladder nccl_p2p_broken nccl_init_hang,collective_timeout,communication_stall,nccl_error others ocrtune p2p
where_it_waits rank_busy_alone collective_timeout others py-spy dump --pid PID
kernel_storage storage_failure collective_timeout,loader_timeout others dmesg -T | grep -iE 'not responding|blocked for more|lustre|ceph'
collective_names rank_mismatch collective_timeout neither TORCH_DISTRIBUTED_DEBUG=DETAIL CMD
scheduler preempted_or_evicted terminated_from_outside,killed_by_other others sacct -j JOB --format=State,ExitCode,Reason; kubectl describe pod NAME
shm_space shm_full host_out_of_memory neither df -h /dev/shm
shm_space shm_full segmentation_fault others df -h /dev/shm
card_memory gpu_out_of_memory cuda_library_error neither nvidia-smi --query-gpu=memory.used,memory.total --format=csv -l 1
list_images missing_file bad_training_data neither ls -l IMAGE
one_process loader_worker_failed host_out_of_memory first CMD with num_workers=0
one_process python_exception loader_worker_failed neither CMD with num_workers=0
peer_kernel host_out_of_memory peer_lost others ssh PEER dmesg -T | grep -iE 'oom-kill|killed process'
port_owner port_in_use rendezvous_failed others ss -ltnp | grep PORT
port_reach nccl_network rendezvous_failed others nc -zv MASTER PORT
card_health gpu_fault gpu_kernel_fault others dmesg -T | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER
who_is_pending not_scheduled rendezvous_failed others kubectl get pods -o wide, or squeue -j JOB -o '%T %r'
pod_events not_scheduled container_setup_failed,image_pull_failed first kubectl describe pod NAME | sed -n '/^Events/,$p'
host_cards no_gpu_visible container_setup_failed others nvidia-smi   # on the host
host_cards driver_mismatch container_setup_failed neither nvidia-smi   # on the host
module_version driver_mismatch no_gpu_visible both cat /proc/driver/nvidia/version; nvidia-smi
module_version driver_mismatch cuda_driver_too_old neither cat /proc/driver/nvidia/version; nvidia-smi
pull_by_hand access_refused image_pull_failed others crictl pull IMAGE
pull_by_hand access_refused remote_unreachable both curl -sSI URL
pull_from_registry remote_unreachable image_pull_failed neither crictl pull IMAGE
date_and_sync clock_wrong access_refused first date -u; timedatectl show -p NTPSynchronized
date_and_sync clock_wrong tls_failed both date -u; timedatectl show -p NTPSynchronized
handshake tls_failed remote_unreachable neither openssl s_client -connect HOST:443 </dev/null | grep -i verif
small_request request_too_large remote_unreachable first curl -sS -F file=@SMALL_IMAGE URL
kernel_kill host_out_of_memory health_check_failed others dmesg -T | grep -iE 'oom-kill|killed process'
last_state cgroup_out_of_memory health_check_failed neither kubectl describe pod NAME | grep -A4 'Last State'
start_seconds health_check_failed stalled others curl --retry 99 --retry-connrefused -sS http://HOST:PORT/health   # with the check off
start_seconds health_check_failed time_limit neither curl --retry 99 --retry-connrefused -sS http://HOST:PORT/health   # with the check off
card_processes gpu_busy gpu_out_of_memory both nvidia-smi --query-compute-apps=pid,used_memory --format=csv
card_processes gpu_busy no_gpu_visible neither nvidia-smi --query-compute-apps=pid,used_memory --format=csv
load_trusted checkpoint_refused checkpoint_damaged first python -c '__import__("torch").load("FILE", weights_only=False)'   # a file you trust
given_shapes shape_mismatch checkpoint_mismatch neither CMD without the pretrained weights
given_shapes shape_mismatch bad_configuration first CMD with the model's default configuration
fresh_environment library_conflict bad_configuration both CMD in a new environment with the versions that the model's page names
event_log host_hardware_fault segmentation_fault first ipmitool sel elist && ras-mc-ctl --errors; journalctl -k -b -1 | grep -iE 'mce|edac'
event_log host_hardware_fault preempted_or_evicted others ipmitool sel elist && ras-mc-ctl --errors; journalctl -k -b -1 | grep -iE 'mce|edac'
)rows";

}  // namespace

const std::vector<NextStep>& next_step_table() {
  static const std::vector<NextStep> kTable = [] {
    std::vector<NextStep> table;
    for (std::string_view row : rows_of(kSteps)) {
      const char* code = lasting(take_column(row));
      const char* first = find_cause(take_column(row)).name;
      const std::string others(take_column(row));
      const std::string_view open = take_column(row);
      const bool both = open == "both";
      for (const std::string& other : split(others, ',')) {
        table.push_back({code, first, find_cause(other).name, lasting(row), both || open == "first",
                         both || open == "others"});
      }
    }
    return table;
  }();
  return kTable;
}

std::vector<NextStep> next_steps(const std::vector<Cause>& causes,
                                 const std::vector<LogScan>& logs) {
  std::vector<NextStep> steps;
  if (causes.empty() || causes[0].confidence >= kSettled) return steps;
  const std::string_view first = causes[0].row->name;
  const auto suspect = [&](std::string_view name) {
    return std::any_of(causes.begin() + 1, causes.end(), [&](const Cause& cause) {
      return cause.row->name == name && cause.confidence >= kStillSuspect;
    });
  };
  const bool kernel_given =
      std::ranges::any_of(logs, [](const LogScan& log) { return log.kind == SourceKind::kernel; });
  std::uint32_t programs = 0;
  for (const LogScan& log : logs) programs |= log.programs;
  const std::string_view engine = engine_of(programs);
  for (NextStep step : next_step_table()) {
    step.command = words_for(step.command, engine);
    const bool between = (first == step.first && (step.open_for_first || suspect(step.second))) ||
                         (first == step.second && (step.open_for_second || suspect(step.first)));
    const bool given = (kernel_given && starts_with(step.command, "dmesg")) ||
                       std::ranges::any_of(steps, [&](const NextStep& one) {
                         return one.command == std::string_view(step.command);
                       });
    if (between && !given && steps.size() < kMaxSteps) steps.push_back(step);
  }
  return steps;
}

}  // namespace ocrtune
