#include "probes/gpu_worker_program.h"

#include <unistd.h>

#include <array>

#include "base/files.h"

namespace ocrtune {

std::string gpu_worker_program(const std::string& named, const Environment& environment) {
  if (!named.empty()) return named;
  std::string set = environment_value(environment, "OCRTUNE_GPU_WORKER");
  if (!set.empty()) return set;
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string own(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return join_path(parent_path(own), "ocrtune-gpu-worker");
}

}  // namespace ocrtune
