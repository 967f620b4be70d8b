// The one GPU that this process sees: opened, proved to be the one that was meant, and its memory
// watched. For .cu files alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/gpu/cuda/cuda_executor.h"
#include "trial/observe/gpu_memory_use.h"

namespace ocrtune {

class CudaDevice {
 public:
  // `precision` fp32, tf32 or bf16; `meant` the UUID that it must have, "": any. unsupported: no
  // GPU, several, another one than was meant, or none for that precision. CUDA graphs are used
  // unless OCRTUNE_CUDA_GRAPHS is 0.
  static Result<CudaDevice> open(const std::string& precision, const std::string& meant);

  device::CudaExecutor& executor() { return *executor_; }
  const std::string& uuid() const { return uuid_; }
  const std::string& name() const { return name_; }

  struct Use {
    std::uint64_t bytes = 0;  // of this process
    std::uint64_t total_bytes = 0;
    std::string source;
  };
  Result<Use> memory() const;

 private:
  std::unique_ptr<device::CudaExecutor> executor_;
  std::unique_ptr<GpuMemoryUse> books_;
  std::string uuid_, name_;
  std::uint64_t external_bytes_ = 0;  // in use before this process came
};

}  // namespace ocrtune
