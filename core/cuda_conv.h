// One convolution by cuDNN over [N, C, H, W] in fp32. For .cu files alone.
#pragma once

#include <cudnn.h>

#include <memory>

#include "core/device_operator.h"

namespace ocrtune::device {

Status dnn_result(cudnnStatus_t code, const char* what);

// `tensor_cores`: factors may be rounded to tf32. The handle must outlive the engine.
// unsupported: cuDNN has no algorithm for these sizes.
Result<std::unique_ptr<ConvEngine>> make_cudnn_conv(const ConvSizes& sizes, cudnnHandle_t handle,
                                                    bool tensor_cores);

}  // namespace ocrtune::device
