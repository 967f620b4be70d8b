// Depthwise convolutions on loops of our own, several branches at a time: oneDNN 2.6 has no fast
// weight gradient for 5 x 5 kernels and reads the input again for each branch.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

// Whether the convolution is one of these: depthwise, square kernel of 1, 3 or 5, strides of 1 or
// 2, no activation, a bias only in training, and whole channel blocks if there are several
// branches.
bool is_fast_depthwise(const Conv& conv, const Shape& in, bool training = false);

Layout depthwise_layout(const Conv& conv, const ImageDesc& offered, const Layout& preferred);

std::unique_ptr<Operator> make_fast_depthwise(const Conv& conv, const OperatorRequest& request);

}  // namespace ocrtune
