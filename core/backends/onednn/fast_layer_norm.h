// Layer norm over rows of tokens. Reference: core/backends/reference/reference_attention.h.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Operator> make_fast_layer_norm(const LayerNorm& norm, const Shape& in);

}  // namespace ocrtune
