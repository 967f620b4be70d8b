// The table has the pairs that no rule gives. The rule: whatever has a name of its own produces all
// witnesses and all generic failures, and a generic one produces witnesses alone.
#include "diagnosis/consequences.h"

#include <algorithm>
#include <string>

#include <re2/re2.h>

#include "base/tables/rows.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// What ranks report when another one dies, hangs or is stopped.
constexpr std::string_view kWitnesses =
    " collective_timeout peer_lost rendezvous_failed nccl_error process_failed communication_stall "
    "stalled terminated_from_outside loader_timeout nccl_init_hang worker_timeout ";

constexpr std::string_view kGenerics =
    " python_exception native_exception aborted process_failed unknown loader_worker_failed ";

// Beside "whatever has a name of its own produces every witness and every generic failure": causes,
// and what follows from each.
constexpr std::string_view kProduces = R"rows(
collective_timeout > peer_lost terminated_from_outside process_failed aborted native_exception nccl_error python_exception unknown
peer_lost > terminated_from_outside process_failed aborted native_exception unknown
rendezvous_failed > peer_lost terminated_from_outside process_failed aborted unknown
nccl_init_hang > collective_timeout peer_lost nccl_error process_failed aborted unknown
terminated_from_outside > process_failed aborted unknown
clock_wrong > tls_failed access_refused remote_unreachable missing_file
tls_failed access_refused > remote_unreachable missing_file image_pull_failed
remote_unreachable > missing_file image_pull_failed
driver_mismatch > cuda_driver_too_old no_gpu_visible container_setup_failed
permission_denied > no_gpu_visible missing_file
no_gpu_visible > container_setup_failed nccl_network
missing_module segmentation_fault > nccl_network
health_check_failed > host_out_of_memory killed_by_other
worker_timeout > aborted
host_restarted > storage_failure nccl_network preempted_or_evicted
read_only_filesystem > permission_denied
gpu_busy > gpu_out_of_memory cuda_library_error no_gpu_visible
start_method > checkpoint_damaged
host_restarted preempted_or_evicted > remote_unreachable nccl_network
label_out_of_range > gpu_kernel_fault
library_conflict > segmentation_fault illegal_instruction
host_out_of_memory cgroup_out_of_memory userspace_oom_kill > remote_unreachable server_overloaded
host_hardware_fault > peer_lost rendezvous_failed shm_full segmentation_fault gpu_kernel_fault preempted_or_evicted host_restarted
gpu_fault > gpu_kernel_fault cuda_library_error no_gpu_visible segmentation_fault preempted_or_evicted gpu_id_invalid gpu_busy remote_unreachable health_check_failed server_overloaded nccl_network
container_setup_failed image_pull_failed not_scheduled > time_limit
seccomp_refused > process_limit
gpu_out_of_memory > cuda_library_error
disk_full > checkpoint_damaged bad_training_data
shm_full > host_allocation_failed
storage_failure > rank_busy_alone missing_file evaluation_hang permission_denied time_limit read_only_filesystem
cuda_driver_too_old > no_gpu_visible
# On CPUs it takes days.
cuda_library_missing > no_gpu_visible time_limit worker_timeout
nccl_network > rank_mismatch
memory_leak > host_out_of_memory cgroup_out_of_memory numa_node_full userspace_oom_kill killed_by_other
host_out_of_memory cgroup_out_of_memory numa_node_full userspace_oom_kill > nccl_network missing_file
preempted_or_evicted > nccl_network host_out_of_memory killed_by_other
time_limit > host_out_of_memory killed_by_other interrupted_by_user missing_file
storage_limit_evicted > host_out_of_memory killed_by_other preempted_or_evicted
)rows";

}  // namespace

bool is_witness(std::string_view cause) { return listed(kWitnesses, cause); }

bool is_generic(std::string_view cause) { return listed(kGenerics, cause); }

bool in_table(std::string_view cause, std::string_view follower) {
  using Row = std::pair<std::string, std::string>;  // each between blanks
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    for (const std::string_view row : rows_of(kProduces)) {
      const std::size_t arrow = row.find('>');
      rows.emplace_back(" " + std::string(row.substr(0, arrow)),
                        std::string(row.substr(arrow + 1)) + " ");
    }
    return rows;
  }();
  return std::ranges::any_of(kRows, [&](const Row& row) {
    return listed(row.first, cause) && listed(row.second, follower);
  });
}

bool produces(std::string_view cause, std::string_view follower) {
  if (cause == follower) return false;
  if (in_table(cause, follower)) return true;
  if (is_witness(cause)) return false;
  if (is_generic(cause)) return is_witness(follower) && cause != "unknown";
  return is_witness(follower) || is_generic(follower);
}

namespace {

// A line that takes an earlier one back: the retry that connected, the server that answered again.
struct Recovery {
  std::string_view from, to;  // signatures, the first between blanks; "": what one request may meet
};
constexpr Recovery kRecoveries[] = {
    {" paddle_store_retry ", "paddle_store_connected"},
    {" kernel_nfs ", "kernel_nfs_ok"},
    {" kube_unschedulable kube_no_gpu ", "kube_scheduled"},
    {" store_down download_failed hub_unreachable grpc_unavailable network_words ", "reconnected"},
    {" download_failed hub_unreachable network_words ", "retried_ok"},
    {" kube_image dial_failed access_refused tls_failed ", "kube_pulled"},
    {" onnx_provider cuda_library c_no_such_file ", "onnx_fallback"},
    {" pod_mount ", "kube_pulling"},
    {"", "retried_ok"},
    {"", "request_refused"},
    {" exit_sigterm sigterm_elastic ", "orderly_stop"}};

// What one request or one page may meet while the program lives on: its own words are weak, and
// what a server answers with a client's error was the client's.
bool may_be_of_one_request(const Finding& finding) {
  constexpr std::string_view kCauses =
      " python_exception native_exception unknown missing_file bad_training_data process_failed "
      "shape_mismatch checkpoint_damaged bad_configuration remote_unreachable ";
  return tier(finding.signature->role) <= 2 && listed(kCauses, finding.signature->cause);
}

}  // namespace

bool recovered(const Finding& finding, const LogScan& log) {
  constexpr double kLongStall = 60;  // seconds: long enough for somebody to give up
  for (const Recovery& pair : kRecoveries) {
    if (pair.from.empty() ? !may_be_of_one_request(finding)
                          : !listed(pair.from, finding.signature->id)) {
      continue;
    }
    for (const Finding& other : log.findings) {
      if (pair.to != other.signature->id || other.last.number <= finding.last.number) continue;
      // Of several troubles each had a recovery of its own.
      const LogLine& trouble = other.count > 1 ? finding.last : finding.first;
      const auto &from = trouble.when, &to = other.last.when;
      // A recovery that took longer came too late for those who waited.
      return !from || !to || *to - *from < kLongStall;
    }
  }
  return false;
}

bool ended_well(const std::vector<LogScan>& logs) {
  const auto tells = [](const LogScan& log) {
    return log.succeeded && !log.rank;  // the whole run's, not one rank's
  };
  const bool told = std::ranges::any_of(logs, tells);
  // What others noted while it went on is no end of it.
  const auto outlived = [&](const LogScan& beside, const Finding& one) {
    return beside.progress_lines == 0 && one.last.when &&
           std::ranges::any_of(logs, [&](const LogScan& log) {
             const auto& end = log.last_line.when;
             return tells(log) && log.finished && &log != &beside && end && *end > *one.last.when;
           });
  };
  bool well = false;
  for (const LogScan& log : logs) {
    well = well || log.finished;
    if (log.kind != SourceKind::program || log.finished) continue;
    const bool ends = std::ranges::any_of(log.findings, [&](const auto& one) {
      return tier(one.signature->role) >= 2 && !one.earlier_run && one.progress_after < 3 &&
             !starts_with(one.signature->id, "kernel_") && !outlived(log, one);
    });
    if (ends || (!told && (log.progress_lines > 0 || log.programs != 0))) return false;
  }
  return well;
}

double survival_factor(const Finding& finding, const LogScan& log, RunEnd end) {
  if (finding.signature->role == Role::proof) {  // another run's, or this one was taken up again
    const bool requeued = finding.signature->cause == "preempted_or_evicted";
    // A service whose node or replica was taken away answers on.
    constexpr std::int64_t kAnswers = 3;
    const bool outlived = (log.finished && (finding.progress_after > 0 || requeued)) ||
                          (requeued && finding.served_after >= kAnswers);
    return outlived || finding.earlier_run || end == RunEnd::well ? 0.2 : 1;
  }
  const int few = tier(finding.signature->role) == 3 ? 3 : 2;  // lines of other threads
  double factor = recovered(finding, log) ? 0.2 : 1;
  // This factor and those below are set by hand.
  if (finding.earlier_run) factor *= 0.15;
  // A loss that is none until the last step, pages that stay empty: the program may end well, what
  // it made is nothing.
  constexpr std::int64_t kAtTheEnd = 5;                        // lines
  constexpr std::int64_t kLasts = 20, kShare = 20, kNans = 3;  // kShare: of all lines
  const bool lasts = finding.count >= kLasts && kShare * finding.count >= log.lines;
  const bool to_the_end = finding.signature->cause == "loss_diverged" && finding.count >= kNans &&
                          finding.progress_after == 0;
  if (finding.signature->id == "tesseract_encode")
    return lasts || 3 * finding.count >= log.lines ? factor : 0.2 * factor;
  if (find_cause(finding.signature->cause).outcome == std::string_view("wrong_result") &&
      (to_the_end || (lasts && finding.progress_after < few) ||
       (finding.signature->id == "made_nothing" && finding.lines_after <= kAtTheEnd))) {
    return factor;
  }
  // A server that answers on met the error of one request.
  constexpr std::int64_t kServed = 3;
  constexpr std::int64_t kFew = 50;  // answers to each: below it the server is too slow, a guess
  const bool repeated = finding.signature->cause == "worker_timeout" && finding.count >= kServed &&
                        kFew * finding.count >= log.served_lines;
  if (finding.served_after >= kServed && !repeated) {
    factor *= 0.2;
  } else if (finding.progress_after >= 50) {
    factor *= 0.25;
  } else if (finding.progress_after >= few) {
    factor *= 0.45;
  }
  if (log.finished || end == RunEnd::well) {
    factor *= log.succeeded ? 0.1 : 0.3;
  } else if (end == RunEnd::exit_zero) {
    factor *= 0.5;  // trainers that report an error of their own and exit with 0 do exist
  }
  return factor;
}

bool reads_samples(const Finding& finding, const LogScan& log) {
  static const re2::RE2 kWeights(
      "model|weight|ckpt|checkpoint|\\.pth|\\.pt'|pdparams|safetensors|\\.onnx|engine|serializ");
  static const re2::RE2 kSamples(
      "dataset|loader|sampler|reader|/data/|data\\.py|lmdb|shard|parquet");
  static const re2::RE2 kFiles(
      "shard|tfrecord|\\.(?:tar|lmdb|mdb|parquet|arrow|rec|jsonl|jpg|png|tif)");
  const LogLine& line = finding.first;
  const auto raised_in = [&](const re2::RE2& words) {
    return re2::RE2::PartialMatch(line.raised.place, words) ||
           re2::RE2::PartialMatch(line.raised.file, words);
  };
  // Words of weights first: a path may hold "data" as well.
  if (re2::RE2::PartialMatch(line.text, kWeights) || raised_in(kWeights)) return false;
  if (re2::RE2::PartialMatch(line.text, kFiles) || raised_in(kSamples)) return true;
  // The same traceback says that a worker of a loader met it.
  constexpr std::int64_t kTraceback = 60;  // lines
  return std::ranges::any_of(log.findings, [&](const Finding& other) {
    const std::string_view id = other.signature->id;
    return (id == "torch_worker_traceback" || id == "paddle_worker_caught") &&
           other.first.number <= line.number + kTraceback &&
           line.number <= other.last.number + kTraceback;
  });
}

}  // namespace ocrtune
