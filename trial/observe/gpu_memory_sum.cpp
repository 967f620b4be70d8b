#include "trial/observe/gpu_memory_sum.h"

#include <algorithm>

namespace ocrtune {

std::uint64_t fullest_gpu_bytes(const std::vector<std::string>& gpus,
                                const std::map<int, std::uint64_t>& bytes,
                                const std::string& source) {
  std::map<std::string, std::uint64_t> of_gpu;
  std::uint64_t fullest = 0;
  for (const auto& [rank, own] : bytes) {
    const auto at = static_cast<std::size_t>(std::max(0, rank));
    std::uint64_t& sum = of_gpu[at < gpus.size() ? gpus[at] : std::to_string(rank)];
    sum = source == "NVML" ? sum + own : std::max(sum, own);
    fullest = std::max(fullest, sum);
  }
  return fullest;
}

}  // namespace ocrtune
