// Operators that touch every float once, in whatever order the floats lie: sums.
#pragma once

#include <memory>

#include "core/backend.h"

namespace ocrtune {

std::unique_ptr<Operator> make_fast_sum(const ImageDesc& in);

}  // namespace ocrtune
