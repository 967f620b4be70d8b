// Operators that touch every float once or twice: sums, activations, joins and scalings.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

// These work on the floats in whatever layout they lie.
std::unique_ptr<Operator> make_fast_sum(const ImageDesc& in);
std::unique_ptr<Operator> make_fast_activate(const Activate& activate, const ImageDesc& in);

// All inputs as tokens (NHWC).
std::unique_ptr<Operator> make_fast_concat(const OperatorRequest& request);

// Both inputs in one layout.
std::unique_ptr<Operator> make_fast_scale(const ImageDesc& in);

}  // namespace ocrtune
