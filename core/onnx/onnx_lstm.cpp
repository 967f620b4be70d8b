// A bidirectional LSTM. ONNX has its gates in the order input, output, forget, cell; the engine in
// the order input, forget, cell, output (core/backends/reference/reference_lstm.h).
#include <algorithm>

#include <fmt/format.h>

#include "core/onnx/onnx_translator.h"

namespace ocrtune::onnx {
namespace {

constexpr std::size_t kGates[] = {0, 2, 3, 1};  // of the engine's, ONNX's place
// Inputs of the node.
constexpr std::size_t kWeight = 1, kRecurrence = 2, kBias = 3, kLengths = 4, kHidden = 5, kCell = 6,
                      kPeepholes = 7;
constexpr const char* kActivations = "Sigmoid,Tanh,Tanh,Sigmoid,Tanh,Tanh,";

// Both directions of [2, 4 h, columns], of which each row of ONNX's is `row` numbers.
std::vector<float> with_gates_in_order(const std::vector<float>& from, std::size_t hidden,
                                       std::size_t columns, std::size_t direction_floats,
                                       std::size_t first) {
  std::vector<float> to;
  const std::size_t gate = hidden * columns;
  for (std::size_t direction = 0; direction < 2; ++direction) {
    for (const std::size_t place : kGates) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(direction * direction_floats +
                                                                    first + place * gate);
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(gate));
    }
  }
  return to;
}

std::string text_of(const OnnxNode& node, const char* attribute) {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? "" : found->second.text;
}

bool has_input(const OnnxNode& node, std::size_t index) {
  return index < node.inputs.size() && !node.inputs[index].empty();
}

}  // namespace

Result<Tensor> Translator::lstm(const OnnxNode& node) {
  const std::string activations = text_of(node, "activations");
  const bool plain = text_of(node, "direction") == "bidirectional" &&
                     integer_of(node, "layout", 0) == 0 && number_of(node, "clip", 0) == 0 &&
                     integer_of(node, "input_forget", 0) == 0 &&
                     (activations.empty() || activations == kActivations) &&
                     !has_input(node, kLengths) && !has_input(node, kPeepholes);
  if (!plain) return refusal(node, "only bidirectional ones with their usual gates are read");
  const Tensor x = OCRTUNE_TRY(input(node, 0));
  if (x.axes != "TNC") return refusal(node, "its input is not [steps, lines, channels]");
  // The engine's LSTM begins with zeros; exporters often write them out.
  for (const std::size_t state : {kHidden, kCell}) {
    if (!has_input(node, state)) continue;
    const OnnxTensor* start = OCRTUNE_TRY(floats(node, state));
    const bool zero = std::all_of(start->floats.begin(), start->floats.end(),
                                  [](float number) { return number == 0; });
    if (!zero) return refusal(node, "it begins with a state that is not zero");
  }
  const OnnxTensor* weight = OCRTUNE_TRY(floats(node, kWeight));
  const OnnxTensor* recurrence = OCRTUNE_TRY(floats(node, kRecurrence));
  const std::int64_t h = integer_of(node, "hidden_size", 0), in = x.dims[2];
  using Dims = std::vector<std::int64_t>;
  const bool fits = h >= 1 && h < (1 << 16) && weight->dims == Dims{2, 4 * h, in} &&
                    recurrence->dims == Dims{2, 4 * h, h};
  if (!fits) {
    return refusal(node, fmt::format("weights [{}] do not fit {} channels",
                                     fmt::join(weight->dims, ", "), in));
  }
  const auto hidden = static_cast<std::size_t>(h), columns = static_cast<std::size_t>(in);
  Weights weights;
  weights.parameters = {
      with_gates_in_order(weight->floats, hidden, columns, 4 * hidden * columns, 0),
      with_gates_in_order(recurrence->floats, hidden, hidden, 4 * hidden * hidden, 0)};
  std::vector<float> bias(16 * hidden);
  if (has_input(node, kBias)) {
    const OnnxTensor* given = OCRTUNE_TRY(floats(node, kBias));
    if (given->dims != Dims{2, 8 * h}) return refusal(node, "a bias of another size");
    bias = given->floats;
  }
  // ONNX has both biases of a direction in one row, those of the input first.
  for (const std::size_t first : {std::size_t{0}, 4 * hidden}) {
    weights.parameters.push_back(with_gates_in_order(bias, hidden, 1, 8 * hidden, first));
  }
  const int value = OCRTUNE_TRY(value_of(node, x));
  const int read = OCRTUNE_TRY(add(node, BiLstm{static_cast<int>(h)}, {value}, std::move(weights)));
  Tensor both = feature(read, "TNC");
  both.axes = "TRND";
  both.dims = {both.dims[0], 2, both.dims[1], h};
  return both;
}

}  // namespace ocrtune::onnx
