// Does NVIDIA's Multi-Process Service run? With it the kernels of several processes on one GPU run
// side by side; without it the processes take turns.
#pragma once

#include <string>

#include "base/environment.h"
#include "base/files.h"

namespace ocrtune {

struct MpsState {
  bool on = false;
  std::string source;  // the file that says so, or that is not there
};

// By the control daemon's pid file, which it removes when it ends: in CUDA_MPS_PIPE_DIRECTORY, else
// /tmp/nvidia-mps, where clients look for the daemon too. Source: NVIDIA's MPS documentation.
MpsState read_mps(const FileRoot& root, const Environment& environment);

}  // namespace ocrtune
