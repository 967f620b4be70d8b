// Batch norm, activation and max-pool in one pass over blocked activations.
//
// The full-size result between the norm and the pool is never written: backward finds it again
// from the input. Reference: core/backends/reference/reference_norm.h.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Operator> make_fast_norm(const BatchNorm& norm, const ImageDesc& in);

}  // namespace ocrtune
