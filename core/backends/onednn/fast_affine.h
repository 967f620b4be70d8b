// Trained numbers before and after an activation, on vector loops over whatever layout.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Operator> make_fast_affine(const Affine& affine, const ImageDesc& in);

}  // namespace ocrtune
