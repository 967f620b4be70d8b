// The memory of the fullest GPU of a trial, from what its ranks say of themselves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ocrtune {

// `gpus`: of each rank, by UUID; ranks beyond the list have one for themselves. `bytes`: of each
// rank, as it said last. By the driver's books ("NVML") ranks on one GPU add up; what a rank finds
// missing there since it came ("cudaMemGetInfo") already holds the others', so the largest counts.
std::uint64_t fullest_gpu_bytes(const std::vector<std::string>& gpus,
                                const std::map<int, std::uint64_t>& bytes,
                                const std::string& source);

}  // namespace ocrtune
