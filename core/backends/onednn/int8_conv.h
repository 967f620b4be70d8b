// Convolutions and matrix products of inference in 8-bit integers: weights with one scale for each
// channel of the result, activations with a scale and a zero for each sample, found as they come.
//
// What goes in and out are floats in the layouts of the float operators, so that any layer may be
// one of these. A sample's scale is its own: what a line reads as does not depend on its batch.
// Source: Jacob et al. 2018, section 2.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

// Whether the convolution is one of these: of all channels, at least 16, in blocks of 16 or as
// tokens, and of more than one pixel.
bool fits_int8(const Conv& conv, const ImageDesc& in);

// `conv` may have an activation and an affine behind it. The request's parameters are those of
// `conv`, its input fits_int8().
std::unique_ptr<Operator> make_int8_conv(const Conv& conv, const OperatorRequest& request);

}  // namespace ocrtune
