// The GPUs that a command may use, as CUDA_VISIBLE_DEVICES and Paddle's --gpus name them.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// What CUDA_VISIBLE_DEVICES of `environment` lists already, as far as it is valid; without it the
// driver's numbers.
std::vector<std::string> visible_gpu_names(const Machine& machine, const Environment& environment);

}  // namespace ocrtune
