// Logits of lines on one GPU: see core/cuda_reader.h.
#include "core/cuda_reader.h"
#include "core/device_reader.h"

namespace ocrtune {

std::unique_ptr<LogitMaker> make_cuda_reader(device::CudaMachine& machine) {
  return std::make_unique<device::DeviceReader<device::CudaMachine>>(machine);
}

}  // namespace ocrtune
