// Logits of lines on one GPU: see core/gpu/cuda/cuda_reader.h.
#include "core/gpu/cuda/cuda_reader.h"
#include "core/gpu/device_reader.h"

namespace ocrtune {

std::unique_ptr<LogitMaker> make_cuda_reader(device::CudaExecutor& executor) {
  using Executor = device::CudaExecutor;
  if (executor.precision() == device::Precision::bf16) {
    return std::make_unique<device::DeviceReader<Executor, Bf16>>(executor);
  }
  return std::make_unique<device::DeviceReader<Executor, float>>(executor);
}

}  // namespace ocrtune
