// The steps that a GPU worker can take; each says its findings and an end
// (probes/p2p/steps/gpu_finding.h).
#pragma once

#include <string>

#include "base/result.h"
#include "probes/p2p/steps/gpu_step_order.h"

namespace ocrtune {

// `nccl_folder` is where the build found NCCL: the last place to look for libnccl.so.2. Gives the
// exit code.
int run_cuda_step(const GpuStepOrder& order, const std::string& nccl_folder);

// Pieces of a step that looks at what there is. say_no_device ends it and gives the exit code; for
// the answer `code` (a cudaError_t) of cudaGetDeviceCount, cudaSuccess being none at all.
int say_no_device(const GpuStepOrder& order, int code);
void say_versions(const GpuStepOrder& order, const std::string& nccl_folder);
Status say_device(const GpuStepOrder& order, int index);  // makes it the current one

int devices_step(const GpuStepOrder& order, const std::string& nccl_folder);
int copy_step(const GpuStepOrder& order);
int handshake_step(const GpuStepOrder& order);
int nccl_step(const GpuStepOrder& order, const std::string& nccl_folder);  // also soak and sweep

}  // namespace ocrtune
