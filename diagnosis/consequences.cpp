#include "diagnosis/consequences.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/text.h"

namespace ocrtune {
namespace {

// What ranks report when another one dies, hangs or is stopped.
constexpr std::string_view kWitnesses[] = {
    "collective_timeout", "peer_lost",           "rendezvous_failed", "nccl_error",
    "process_failed",     "communication_stall", "stalled",           "terminated_from_outside",
    "loader_timeout",     "nccl_init_hang",
};

constexpr std::string_view kGenerics[] = {"python_exception", "native_exception",
                                          "aborted",          "process_failed",
                                          "unknown",          "loader_worker_failed"};

struct Row {
  const char* cause;
  const char* followers;  // between blanks
};

// Beside "whatever has a name of its own produces every witness and every generic failure".
constexpr Row kRows[] = {
    {"collective_timeout",
     " peer_lost terminated_from_outside process_failed aborted native_exception nccl_error "
     "python_exception unknown "},
    {"peer_lost", " terminated_from_outside process_failed aborted native_exception unknown "},
    {"rendezvous_failed", " peer_lost terminated_from_outside process_failed aborted unknown "},
    {"nccl_init_hang", " collective_timeout peer_lost nccl_error process_failed aborted unknown "},
    {"terminated_from_outside", " process_failed aborted unknown "},
    {"clock_wrong", " tls_failed access_refused remote_unreachable missing_file "},
    {"tls_failed", " remote_unreachable missing_file image_pull_failed "},
    {"access_refused", " remote_unreachable missing_file image_pull_failed "},
    {"remote_unreachable", " missing_file image_pull_failed "},
    {"driver_mismatch", " cuda_driver_too_old no_gpu_visible container_setup_failed "},
    {"permission_denied", " no_gpu_visible missing_file "},
    {"no_gpu_visible", " container_setup_failed "},
    {"health_check_failed", " host_out_of_memory killed_by_other "},
    {"label_out_of_range", " gpu_kernel_fault "},
    {"library_conflict", " segmentation_fault illegal_instruction "},
    {"host_hardware_fault", " shm_full segmentation_fault gpu_kernel_fault preempted_or_evicted "},
    {"gpu_fault",
     " gpu_kernel_fault cuda_library_error no_gpu_visible segmentation_fault "
     "preempted_or_evicted "},
    {"container_setup_failed", " time_limit "},
    {"image_pull_failed", " time_limit "},
    {"not_scheduled", " time_limit "},
    {"gpu_out_of_memory", " cuda_library_error "},
    {"disk_full", " checkpoint_damaged bad_training_data "},
    {"shm_full", " host_allocation_failed "},
    {"storage_failure", " rank_busy_alone missing_file evaluation_hang permission_denied "},
    {"cuda_driver_too_old", " no_gpu_visible "},
    {"cuda_library_missing", " no_gpu_visible "},
    {"nccl_network", " rank_mismatch "},
    {"host_out_of_memory", " nccl_network "},
    {"cgroup_out_of_memory", " nccl_network "},
    {"userspace_oom_kill", " nccl_network "},
    {"segmentation_fault", " nccl_network "},
    {"preempted_or_evicted", " nccl_network host_out_of_memory killed_by_other "},
    {"time_limit", " host_out_of_memory killed_by_other interrupted_by_user "},
    {"storage_limit_evicted", " host_out_of_memory killed_by_other preempted_or_evicted "},
};

bool among(std::string_view cause, const std::string_view* first, const std::string_view* last) {
  return std::find(first, last, cause) != last;
}

}  // namespace

bool is_witness(std::string_view cause) {
  return among(cause, std::begin(kWitnesses), std::end(kWitnesses));
}

bool is_generic(std::string_view cause) {
  return among(cause, std::begin(kGenerics), std::end(kGenerics));
}

bool in_table(std::string_view cause, std::string_view follower) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return cause == row.cause &&
           std::string_view(row.followers).find(" " + std::string(follower) + " ") !=
               std::string_view::npos;
  });
}

bool produces(std::string_view cause, std::string_view follower) {
  if (cause == follower) return false;
  if (in_table(cause, follower)) return true;
  if (is_witness(cause)) return false;
  if (is_generic(cause)) return is_witness(follower) && cause != "unknown";
  return is_witness(follower) || is_generic(follower);
}

}  // namespace ocrtune
