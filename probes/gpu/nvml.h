// Asks NVIDIA's driver about GPUs, links and P2P. For the GPU worker alone: the calls may hang.
#pragma once

#include <string>

#include "probes/machine/gpu_report.h"

namespace ocrtune {

// `library` "" takes the system's. No driver, no GPU and a broken driver are all reports with their
// state in words; a single fact that cannot be read stays unknown.
GpuReport read_nvml(const std::string& library);

}  // namespace ocrtune
