// How much of a GPU's memory this process uses, by the driver's own books. For the processes that
// compute on a GPU alone: the calls may hang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/gpu/nvml_api.h"

namespace ocrtune {

class GpuMemoryUse {
 public:
  // `uuid`: of the GPU or MIG slice, whole; `library` as open_nvml. Without NVML or such a GPU all
  // answers are nullopt.
  GpuMemoryUse(const std::string& uuid, const std::string& library);

  // Of `pid`, as the driver counts it; nullopt in containers with their own process ids.
  std::optional<std::uint64_t> of_process(int pid) const;
  std::optional<std::uint64_t> of_all() const;  // in use on the GPU, by any process

 private:
  NvmlApi api_;
  NvmlDevice device_ = nullptr;
};

}  // namespace ocrtune
