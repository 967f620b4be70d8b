// A training rank on one GPU: see core/cuda_trainer.h.
#include "core/cuda_trainer.h"
#include "core/device_trainer.h"

namespace ocrtune {

Result<std::unique_ptr<Trainer>> make_cuda_trainer(const TrainerOptions& options,
                                                   device::CudaMachine& machine, Comm& comm) {
  return device::DeviceTrainer<device::CudaMachine>::create(options, machine, comm);
}

}  // namespace ocrtune
