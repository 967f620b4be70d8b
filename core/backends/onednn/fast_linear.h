// y = W x + b over tokens as matrix products; works on NHWC, where a pixel's channels are a row.
#pragma once

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Operator> make_fast_linear(const Linear& linear, const Shape& in);

}  // namespace ocrtune
