// Where the program is that talks to GPU drivers.
#pragma once

#include <string>

#include "base/environment.h"

namespace ocrtune {

// `named` if it is not empty, else OCRTUNE_GPU_WORKER, else ocrtune-gpu-worker beside this program.
std::string gpu_worker_program(const std::string& named, const Environment& environment);

}  // namespace ocrtune
