// Convolutions on oneDNN: blocked layouts, primitives made once for each shape, scratch from the
// plan. The only room besides core/gemm and core/onednn_backend that knows oneDNN.
#pragma once

#include <memory>

#include "base/result.h"
#include "core/graph/backend.h"

namespace ocrtune {

struct ConvOptions {
  bool bf16 = false;  // inputs and weights are rounded to bfloat16, sums stay float
  bool adds = false;  // forward adds to what the output holds
};

// One matrix product for each pixel.
Conv point_conv(int out_channels, bool bias);

// The layout in which oneDNN would like the input of this convolution.
Layout preferred_conv_layout(const Conv& conv, const Shape& in, const Shape& out);

// Whether an input in tokens may stay so: its output will be tokens too.
bool keeps_tokens(const Conv& conv, const ImageDesc& in);

// unsupported: oneDNN has no such convolution; exhausted: no memory.
Result<std::unique_ptr<Operator>> make_onednn_conv(const Conv& conv, const OperatorRequest& request,
                                                   const ConvOptions& options);

// Whether convolutions in bfloat16 run on bfloat16 instructions of this CPU.
bool has_native_bf16();

}  // namespace ocrtune
