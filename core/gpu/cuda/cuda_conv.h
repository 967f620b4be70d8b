// One convolution by cuDNN over [N, C, H, W], in fp32 or on bf16 with sums in fp32. For .cu files
// alone.
#pragma once

#include <cudnn.h>

#include <memory>

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

// unsupported: cuDNN says so.
Status dnn_result(cudnnStatus_t code, const char* what);

// `tensor_cores`: factors may be rounded to tf32. The handle, which is set to `stream`, must
// outlive the engine. unsupported: cuDNN has no algorithm for these sizes.
Result<std::unique_ptr<ConvEngine>> make_cudnn_conv(cudnnHandle_t handle, cudaStream_t stream,
                                                    const ConvSizes& sizes, bool tensor_cores);

}  // namespace ocrtune::device
