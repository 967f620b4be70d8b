// The steps that a GPU worker can take; each says its findings and an end (probes/gpu_finding.h).
#pragma once

#include <string>

#include "probes/gpu_step_order.h"

namespace ocrtune {

// `nccl_folder` is where the build found NCCL: the last place to look for libnccl.so.2. Gives the
// exit code.
int run_cuda_step(const GpuStepOrder& order, const std::string& nccl_folder);

int devices_step(const GpuStepOrder& order, const std::string& nccl_folder);
int copy_step(const GpuStepOrder& order);
int handshake_step(const GpuStepOrder& order);
int nccl_step(const GpuStepOrder& order, const std::string& nccl_folder);  // also soak and sweep

}  // namespace ocrtune
