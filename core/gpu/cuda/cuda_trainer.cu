// A training rank on one GPU: see core/gpu/cuda/cuda_trainer.h.
#include "core/gpu/cuda/cuda_trainer.h"
#include "core/gpu/device_trainer.h"

namespace ocrtune {

Result<std::unique_ptr<Trainer>> make_cuda_trainer(const TrainerOptions& options,
                                                   device::CudaExecutor& executor, Comm& comm) {
  using Executor = device::CudaExecutor;
  if (options.precision == "bf16") {
    return device::DeviceTrainer<Executor, Bf16>::create(options, executor, comm);
  }
  return device::DeviceTrainer<Executor, float>::create(options, executor, comm);
}

}  // namespace ocrtune
