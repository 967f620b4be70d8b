// Logits of lines on one GPU. Never run on hardware so far.
#pragma once

#include <memory>

#include "core/gpu/cuda/cuda_executor.h"
#include "core/infer/logit_maker.h"

namespace ocrtune {

std::unique_ptr<LogitMaker> make_cuda_reader(device::CudaExecutor& executor);

}  // namespace ocrtune
