// The order of the three places: an option, the environment (for tests), beside this program.
#include "probes/gpu/gpu_worker_program.h"

#include "base/files.h"
#include "base/process.h"

namespace ocrtune {

std::string gpu_worker_program(const std::string& named, const Environment& environment) {
  if (!named.empty()) return named;
  std::string set = environment_value(environment, "OCRTUNE_GPU_WORKER");
  if (!set.empty()) return set;
  return join_path(parent_path(own_program()), "ocrtune-gpu-worker");
}

}  // namespace ocrtune
