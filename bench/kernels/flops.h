// How much arithmetic a network is: multiplications and additions of its matrix products and
// convolutions, which are nearly all of it.
#pragma once

#include "base/result.h"
#include "core/graph/graph.h"

namespace ocrtune {

// Of one forward pass; a training step is three times that. usage: as infer_shapes.
Result<double> forward_flops(const Graph& graph, const Shape& image);

// Of one layer; 0 for those that only move numbers.
double layer_flops(const Layer& layer, const Shape& input, const Shape& output);

}  // namespace ocrtune
