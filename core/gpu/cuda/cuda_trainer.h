// A training rank on one GPU. Never run on hardware so far.
#pragma once

#include <memory>

#include "core/gpu/cuda/cuda_executor.h"
#include "core/train/trainer.h"

namespace ocrtune {

// As DeviceTrainer::create (core/gpu/device_trainer.h).
Result<std::unique_ptr<Trainer>> make_cuda_trainer(const TrainerOptions& options,
                                                   device::CudaExecutor& executor, Comm& comm);

}  // namespace ocrtune
