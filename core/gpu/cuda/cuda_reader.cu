// Logits of lines on one GPU: see core/gpu/cuda/cuda_reader.h.
#include "core/gpu/cuda/cuda_reader.h"
#include "core/gpu/device_reader.h"

namespace ocrtune {

std::unique_ptr<LogitMaker> make_cuda_reader(device::CudaMachine& machine) {
  using Machine = device::CudaMachine;
  if (machine.precision() == device::Precision::bf16) {
    return std::make_unique<device::DeviceReader<Machine, Bf16>>(machine);
  }
  return std::make_unique<device::DeviceReader<Machine, float>>(machine);
}

}  // namespace ocrtune
