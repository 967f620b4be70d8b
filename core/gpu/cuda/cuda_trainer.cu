// A training rank on one GPU: see core/gpu/cuda/cuda_trainer.h.
#include "core/gpu/cuda/cuda_trainer.h"
#include "core/gpu/device_trainer.h"

namespace ocrtune {

Result<std::unique_ptr<Trainer>> make_cuda_trainer(const TrainerOptions& options,
                                                   device::CudaMachine& machine, Comm& comm) {
  using Machine = device::CudaMachine;
  if (options.precision == "bf16") {
    return device::DeviceTrainer<Machine, Bf16>::create(options, machine, comm);
  }
  return device::DeviceTrainer<Machine, float>::create(options, machine, comm);
}

}  // namespace ocrtune
