#include "probes/gpu/mps.h"

namespace ocrtune {

MpsState read_mps(const FileRoot& root, const Environment& environment) {
  const std::string named = environment_value(environment, "CUDA_MPS_PIPE_DIRECTORY");
  const std::string folder = named.empty() ? "/tmp/nvidia-mps" : named;
  const std::string path = join_path(folder, "nvidia-cuda-mps-control.pid");
  return {root.exists(path), path};
}

}  // namespace ocrtune
