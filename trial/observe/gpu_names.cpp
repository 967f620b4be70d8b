// Two readings of one subject: which GPUs may be used, by the environment, and how full they
// became, by what the ranks report.
#include "trial/observe/gpu_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/gpu/gpu_ids.h"
#include "probes/machine_gpus.h"

namespace ocrtune {

std::vector<std::string> visible_gpu_names(const Machine& machine, const Environment& environment) {
  std::vector<std::string> names;
  if (environment.count("CUDA_VISIBLE_DEVICES") == 0) {
    for (const GpuFacts& gpu : machine.gpus) names.push_back(fmt::format("{}", gpu.index));
    return names;
  }
  const GpuView view = visible_gpus(physical_gpus(machine.gpus), environment, GpuVendor::nvidia);
  for (const std::string& name : split(environment.at("CUDA_VISIBLE_DEVICES"), ',')) {
    names.emplace_back(trim(name));
  }
  // CUDA stops at the first entry that names no GPU, so the names behind it are not used either.
  names.resize(std::min(names.size(), view.gpus.size()));
  return names;
}

std::uint64_t fullest_gpu_bytes(const std::vector<std::string>& gpus,
                                const std::map<int, std::uint64_t>& bytes,
                                const std::string& source) {
  std::map<std::string, std::uint64_t> of_gpu;
  std::uint64_t fullest = 0;
  for (const auto& [rank, own] : bytes) {
    const auto at = static_cast<std::size_t>(std::max(0, rank));
    // A rank beyond the list gets a name of its own that no UUID equals.
    std::uint64_t& sum = of_gpu[at < gpus.size() ? gpus[at] : std::to_string(rank)];
    sum = source == "NVML" ? sum + own : std::max(sum, own);
    fullest = std::max(fullest, sum);
  }
  return fullest;
}

}  // namespace ocrtune
