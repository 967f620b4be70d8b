// The nodes that compute with numbers, and what several of them together mean.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/onnx/onnx_translator.h"

namespace ocrtune::onnx {
namespace {

// a x + b of a function of x.
void apply(Tensor& x, double a, double b) {
  double& scale = x.is_linear() ? x.s0 : x.s1;
  double& shift = x.is_linear() ? x.t0 : x.t1;
  scale *= a;
  shift = a * shift + b;
}

bool same_inner(const Tensor& a, const Tensor& b) {
  return a.value == b.value && nearly(a.s0, b.s0) && nearly(a.t0, b.t0);
}

bool is_last(const Tensor& x, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  return (axis < 0 ? axis + rank : axis) == rank - 1;
}

// x relu6(x + 3), x sigmoid(x), x (1 + erf(x / sqrt 2)): `x` is linear, `gate` is not.
bool joins(const Tensor& x, const Tensor& gate, Tensor& joined) {
  if (!x.is_linear() || x.part >= 0 || x.value != gate.value || x.axes != gate.axes) return false;
  joined = x;
  if (gate.state == State::sigmoid && same_inner(x, gate)) {
    joined.activation = Activation::swish;
    return true;
  }
  // A gate with a shift behind it (t1) would leave a term that hard swish has not.
  if (gate.state == State::feature && gate.activation == Activation::hard_sigmoid &&
      same_inner(x, gate) && gate.t1 == 0) {
    joined.activation = Activation::hard_swish;
    joined.s1 = gate.s1;
    return true;
  }
  // s1 = t1 makes the gate s1 (1 + erf(...)), the only form in which it is a GELU.
  if (gate.state != State::erf || gate.s0 == 0 || !nearly(gate.s1, gate.t1)) return false;
  joined.activation = Activation::gelu;
  joined.s0 = gate.s0 * std::numbers::sqrt2;
  joined.t0 = gate.t0 * std::numbers::sqrt2;
  const double outer = x.s0 / joined.s0;
  joined.s1 = 2 * outer * gate.s1;
  return nearly(x.t0, outer * joined.t0);
}

}  // namespace

Result<Tensor> Translator::binary(const OnnxNode& node) {
  const Tensor a = OCRTUNE_TRY(input(node, 0));
  const Tensor b = OCRTUNE_TRY(input(node, 1));
  const bool first = a.state == State::constant;
  if (!first && b.state != State::constant) return of_two(node, a, b);
  const Tensor& x = first ? b : a;
  if (x.state == State::constant) return refusal(node, "arithmetic of constants");
  const OnnxTensor* constant = OCRTUNE_TRY(floats(node, first ? 0 : 1));
  if (constant->floats.size() == 1 && constant->dims.size() <= x.dims.size())
    return with_number(node, x, constant->floats[0], first);
  return with_vector(node, x, *constant);
}

Result<Tensor> Translator::with_number(const OnnxNode& node, Tensor x, double number,
                                       bool number_first) {
  const std::string& operation = node.operation;
  if (operation == "Pow" && x.state == State::centred && number == 2 && !number_first) {
    x.state = State::squared;
    return x;
  }
  const bool multiplies =
      operation == "Mul" || (operation == "Div" && !number_first && number != 0);
  const double factor = operation == "Div" ? 1 / number : number;
  // Exporters scale q, k or the scores; attend() asks for 1 / sqrt(width) in all.
  if (multiplies && (x.part >= 0 || x.state == State::scores)) {
    x.factor *= factor;
    return x;
  }
  if (operation == "Add" && x.state == State::variance) {
    x.epsilon += number;
    return x;
  }
  if (x.state == State::product) x = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  const bool function = (x.state == State::feature && x.part < 0) || x.state == State::erf;
  if (!function) return refusal(node, "a number where none is known");
  if (multiplies) {
    apply(x, factor, 0);
  } else if (operation == "Add") {
    apply(x, 1, number);
  } else if (operation == "Sub") {
    number_first ? apply(x, -1, number) : apply(x, 1, -number);
  } else {
    return refusal(node, fmt::format("no {} with the number {} is known", operation, number));
  }
  return x;
}

// A number for each channel, the last dimension.
Result<Tensor> Translator::with_vector(const OnnxNode& node, Tensor x, const OnnxTensor& vector) {
  const bool fits = !x.dims.empty() && !vector.dims.empty() &&
                    vector.dims.back() == x.dims.back() &&
                    static_cast<std::int64_t>(vector.floats.size()) == x.dims.back();
  if (fits && node.operation == "Add" && x.state == State::product) {
    return feature(OCRTUNE_TRY(add_linear(node, x, &vector)), x.axes);
  }
  if (fits && node.operation == "Mul" && x.state == State::normalised) {
    x.state = State::scaled;
    x.weight = &vector;
    return x;
  }
  if (fits && node.operation == "Add" && x.state == State::scaled) {
    return add_layer_norm(node, x, x.epsilon, *x.weight, vector);
  }
  return refusal(node, fmt::format("no {} with a constant of [{}] is known", node.operation,
                                   fmt::join(vector.dims, ", ")));
}

Result<Tensor> Translator::of_two(const OnnxNode& node, const Tensor& a, const Tensor& b) {
  const std::string& operation = node.operation;
  if (operation == "Mul") return multiply(node, a, b);
  Tensor x = a;
  if (operation == "Sub" && b.state == State::mean && a.axes == b.axes &&
      OCRTUNE_TRY(value_of(node, a)) == b.value) {
    x = feature(b.value, a.axes);
    x.state = State::centred;
    return x;
  }
  if (operation == "Div" && a.state == State::centred && b.state == State::deviation &&
      a.value == b.value) {
    x.state = State::normalised;
    x.epsilon = b.epsilon;
    return x;
  }
  if (operation != "Add" || a.axes != b.axes || a.dims != b.dims) {
    return refusal(node, fmt::format("no {} of tensors [{}] and [{}] is known", operation,
                                     fmt::join(a.dims, ", "), fmt::join(b.dims, ", ")));
  }
  const int left = OCRTUNE_TRY(value_of(node, a)), right = OCRTUNE_TRY(value_of(node, b));
  return feature(OCRTUNE_TRY(add(node, Sum{}, {left, right})), a.axes);
}

Result<Tensor> Translator::multiply(const OnnxNode& node, const Tensor& a, const Tensor& b) {
  Tensor joined;
  if (joins(a, b, joined) || joins(b, a, joined)) return joined;
  if (a.state == State::centred && b.state == State::centred && a.value == b.value) {
    joined = a;
    joined.state = State::squared;
    return joined;
  }
  const auto is_factor = [](const Tensor& x) {
    return x.is_image() && x.dims[2] == 1 && x.dims[3] == 1;
  };
  const bool fits = a.is_image() && b.is_image() && a.dims[1] == b.dims[1];
  if (!fits || (!is_factor(a) && !is_factor(b))) {
    return refusal(node, fmt::format("no product of [{}] and [{}] is known",
                                     fmt::join(a.dims, ", "), fmt::join(b.dims, ", ")));
  }
  const Tensor &image = is_factor(b) ? a : b, &factors = is_factor(b) ? b : a;
  const int value = OCRTUNE_TRY(value_of(node, image));
  const int factor = OCRTUNE_TRY(value_of(node, factors));
  return feature(OCRTUNE_TRY(add(node, Scale{}, {value, factor})), "NCHW");
}

Result<Tensor> Translator::activate(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  if (x.state == State::product || !x.is_linear()) {
    x = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  }
  if (x.part >= 0) return refusal(node, "it follows the parting into q, k and v");
  const std::string& operation = node.operation;
  if (operation == "Sigmoid") x.state = State::sigmoid;
  if (operation == "Erf") x.state = State::erf;
  if (operation == "Relu") x.activation = Activation::relu;
  if (operation == "HardSwish") x.activation = Activation::hard_swish;
  if (operation == "HardSigmoid") {  // the engine's is relu6(x + 3) / 6
    apply(x, 6 * number_of(node, "alpha", 0.2F), 6 * number_of(node, "beta", 0.5) - 3);
    x.activation = Activation::hard_sigmoid;
  }
  return x;
}

// Between 0 and 6: six times a hard sigmoid.
Result<Tensor> Translator::clip(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  double low = number_of(node, "min", 0), high = number_of(node, "max", 0);
  if (node.inputs.size() == 3) {
    const OnnxTensor *least = OCRTUNE_TRY(floats(node, 1)), *most = OCRTUNE_TRY(floats(node, 2));
    if (least->floats.size() == 1 && most->floats.size() == 1) {
      low = least->floats[0];
      high = most->floats[0];
    }
  }
  if (low != 0 || high != 6) return refusal(node, "between other bounds than 0 and 6");
  if (!x.is_linear()) x = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  if (x.part >= 0) return refusal(node, "it follows the parting into q, k and v");
  apply(x, 1, -3);
  x.activation = Activation::hard_sigmoid;
  x.s1 = 6;
  return x;
}

Result<Tensor> Translator::square_root(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  if (x.state != State::variance) return refusal(node, "not of a variance");
  x.state = State::deviation;
  return x;
}

Result<Tensor> Translator::reduce_mean(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  const auto axes = OCRTUNE_TRY(integers(node, 1, "axes"));
  const bool channels = axes.size() == 1 && is_last(x, axes[0]) && x.ends_in_channels() &&
                        integer_of(node, "keepdims", 1) == 1;
  if (!channels) return refusal(node, "not over the channels, as a layer norm has it");
  if (x.state == State::squared) {
    x.state = State::variance;
    x.epsilon = 0;
    return x;
  }
  x = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  x.state = State::mean;
  return x;
}

Result<Tensor> Translator::layer_norm(const OnnxNode& node) {
  const Tensor x = OCRTUNE_TRY(input(node, 0));
  if (!x.ends_in_channels() || !is_last(x, integer_of(node, "axis", -1)) ||
      node.inputs.size() < 3) {
    return refusal(node, "not over the channels with a scale and a shift");
  }
  const OnnxTensor *scale = OCRTUNE_TRY(floats(node, 1)), *shift = OCRTUNE_TRY(floats(node, 2));
  const Tensor plain = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  return add_layer_norm(node, plain, number_of(node, "epsilon", 1e-5), *scale, *shift);
}

Result<Tensor> Translator::add_layer_norm(const OnnxNode& node, const Tensor& x, double epsilon,
                                          const OnnxTensor& scale, const OnnxTensor& shift) {
  LayerNorm norm;
  norm.epsilon = epsilon;
  const int value = OCRTUNE_TRY(add(node, norm, {x.value}, {{scale.floats, shift.floats}, {}}));
  return feature(value, x.axes);
}

Result<Tensor> Translator::mat_mul(const OnnxNode& node) {
  const Tensor a = OCRTUNE_TRY(input(node, 0));
  const Tensor b = OCRTUNE_TRY(input(node, 1));
  if (b.state == State::constant) {
    const OnnxTensor* weight = OCRTUNE_TRY(floats(node, 1));
    const bool fits = a.ends_in_channels() && weight->dims.size() == 2 &&
                      weight->dims[0] == a.dims.back() && weight->dims[1] >= 1 &&
                      weight->dims[1] < (1 << 24);
    if (!fits) {
      return refusal(node, fmt::format("no product of [{}] and weights [{}] is known",
                                       fmt::join(a.dims, ", "), fmt::join(weight->dims, ", ")));
    }
    Tensor product = feature(OCRTUNE_TRY(value_of(node, a)), a.axes);
    product.state = State::product;
    product.weight = weight;
    product.dims.back() = weight->dims[1];
    return product;
  }
  const bool parts = a.value == b.value && b.state == State::feature && b.part >= 0;
  if (parts && a.state == State::feature && a.part == 0 && b.part == 1 && a.axes == "NGTD" &&
      b.axes == "NGDT") {
    Tensor scores = a;
    scores.state = State::scores;
    scores.part = -1;
    scores.factor = a.factor * b.factor;
    scores.axes = "NGTT";
    scores.dims[3] = a.dims[2];
    return scores;
  }
  if (parts && a.state == State::weights && b.part == 2 && b.axes == "NGTD")
    return attend(node, a, b);
  return refusal(node, "no product of these two features is known");
}

Result<Tensor> Translator::attend(const OnnxNode& node, const Tensor& weights,
                                  const Tensor& values) {
  // The engine's attention scales by 1 / sqrt(width) and by nothing else.
  const std::int64_t heads = values.dims[1], width = values.dims[3];
  if (!nearly(weights.factor * std::sqrt(static_cast<double>(width)), 1) || values.factor != 1) {
    return refusal(
        node, fmt::format("attention scaled by {}, not by 1 / sqrt({})", weights.factor, width));
  }
  const int value = OCRTUNE_TRY(add(node, Attention{static_cast<int>(heads)}, {values.value}));
  Tensor mixed = feature(value, "NTC");
  mixed.axes = "NGTD";
  mixed.dims = values.dims;
  return mixed;
}

Result<Tensor> Translator::softmax(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  // The default axis of Softmax changed with opset 13.
  if (!is_last(x, integer_of(node, "axis", file_.opset < 13 ? 1 : -1))) {
    return refusal(node, "not over the last dimension");
  }
  if (x.state == State::scores) {
    x.state = State::weights;
    return x;
  }
  if (x.axes != "NTC") return refusal(node, "neither of attention nor of the classes");
  x = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  x.state = State::probabilities;
  return x;
}

}  // namespace ocrtune::onnx
