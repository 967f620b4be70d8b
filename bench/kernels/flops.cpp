// A multiplication and an addition count as two. Norms, activations and pools count as nothing.
#include "bench/kernels/flops.h"

#include <vector>

namespace ocrtune {
namespace {

double floats(const Shape& shape) {
  return static_cast<double>(shape.n) * shape.c * shape.h * shape.w;
}

double pixels(const Shape& shape) { return static_cast<double>(shape.h) * shape.w; }

}  // namespace

double layer_flops(const Layer& layer, const Shape& input, const Shape& output) {
  if (const auto* conv = std::get_if<Conv>(&layer.operation)) {
    const double taps = static_cast<double>(conv->kernel.h) * conv->kernel.w;
    const int channels = input.c / conv->groups;  // that one output sees
    return 2 * floats(output) * taps * channels;
  }
  if (std::holds_alternative<Linear>(layer.operation)) return 2 * floats(output) * input.c;
  if (std::holds_alternative<Attention>(layer.operation)) {
    // Two products, queries times keys and weights times values, each over all pixels.
    return 4 * floats(output) * pixels(input);
  }
  if (const auto* lstm = std::get_if<BiLstm>(&layer.operation)) {
    // Four gates, each of the input and of the hidden state before.
    return 2 * floats(output) * 4 * (input.c + lstm->hidden);
  }
  return 0;
}

Result<double> forward_flops(const Graph& graph, const Shape& image) {
  const std::vector<Shape> shapes = OCRTUNE_TRY(infer_shapes(graph, image));
  double flops = 0;
  for (const Layer& layer : graph.layers) {
    flops += layer_flops(layer, shapes[static_cast<std::size_t>(layer.inputs[0])],
                         shapes[static_cast<std::size_t>(layer.output)]);
  }
  return flops;
}

}  // namespace ocrtune
