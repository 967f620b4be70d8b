// The GPUs of this machine, asked for by a child process with a deadline.
//
// A driver can hang every process that touches it, so this process never does: the program
// ocrtune-gpu-worker asks, and is killed when it does not answer.
#pragma once

#include <string>

#include "base/environment.h"
#include "probes/machine/gpu_report.h"

namespace ocrtune {

struct GpuProbeOptions {
  std::string worker;  // the program; "": OCRTUNE_GPU_WORKER, else beside this program
  double deadline_seconds = 4;
};

// Never fails and leaves no process behind: what went wrong is the report's state. The driver
// library is OCRTUNE_NVML_PATH of `environment`, else the system's.
GpuReport probe_gpus(const GpuProbeOptions& options, const Environment& environment);

}  // namespace ocrtune
