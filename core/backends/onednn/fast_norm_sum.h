// The sum of several batch norms on vector loops: one pass reads all branches, one writes the sum.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

// The layout of all inputs where the first is there in `offered`: its own, unless a branch would
// begin in the middle of a channel block.
Layout norm_sum_layout(const NormSum& norm, const ImageDesc& offered);

std::unique_ptr<Operator> make_fast_norm_sum(const NormSum& norm, const OperatorRequest& request);

}  // namespace ocrtune
