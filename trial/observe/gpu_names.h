// The GPUs of a trial: how a command names those that it may use, and the memory of the fullest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/environment.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// What CUDA_VISIBLE_DEVICES of `environment` lists already, as far as it is valid; without it the
// driver's numbers.
std::vector<std::string> visible_gpu_names(const Machine& machine, const Environment& environment);

// The memory of the fullest GPU of a trial, from what its ranks say of themselves.
// `gpus`: of each rank, by UUID; ranks beyond the list have one for themselves. `bytes`: of each
// rank, as it said last. By the driver's books ("NVML") ranks on one GPU add up; what a rank finds
// missing there since it came ("cudaMemGetInfo") already holds the others', so the largest counts.
std::uint64_t fullest_gpu_bytes(const std::vector<std::string>& gpus,
                                const std::map<int, std::uint64_t>& bytes,
                                const std::string& source);

}  // namespace ocrtune
