// Average and maximum over windows of pixels, in whatever layout they lie.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Operator> make_fast_average_pool(const AveragePool& pool, const ImageDesc& in);
std::unique_ptr<Operator> make_fast_max_pool(const MaxPool& pool, const ImageDesc& in);

}  // namespace ocrtune
