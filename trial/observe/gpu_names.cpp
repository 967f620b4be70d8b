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
  names.resize(std::min(names.size(), view.gpus.size()));
  return names;
}

}  // namespace ocrtune
