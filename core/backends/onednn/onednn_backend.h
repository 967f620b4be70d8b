// The fast CPU backend: convolutions and large matrix products on oneDNN, the rest in our own
// vector loops on the same blocked layouts.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

// bf16: convolutions round to bfloat16; int8: convolutions and matrix products of inference compute
// in 8-bit integers (int8_conv.h), and training is refused.
enum class OnednnPrecision { fp32, bf16, int8 };

std::unique_ptr<Backend> make_onednn_backend(OnednnPrecision precision);

}  // namespace ocrtune
