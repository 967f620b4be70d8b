// The structure: constants, shapes, convolutions, norms and pools. run() takes the nodes in the
// order of the file, which ONNX asks to be topological, and looks each up in table().
#include "core/onnx/onnx_translator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ocrtune::onnx {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// The channels of the image are read as blue, green, red by exported recognisers; here red is
// first.
std::vector<float> with_red_first(std::vector<float> weights, int out, std::size_t window) {
  for (int o = 0; o < out; ++o) {
    const auto first = weights.begin() + static_cast<std::ptrdiff_t>(at(o) * 3 * window);
    std::swap_ranges(first, first + static_cast<std::ptrdiff_t>(window),
                     first + static_cast<std::ptrdiff_t>(2 * window));
  }
  return weights;
}

const std::vector<std::int64_t>* integers_of(const OnnxNode& node, const char* attribute) {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? nullptr : &found->second.integers;
}

// The attribute as height and width.
Result<Extent> extent_of(const OnnxNode& node, const char* attribute, int otherwise) {
  const auto* numbers = integers_of(node, attribute);
  if (numbers == nullptr) return Extent{otherwise, otherwise};
  // A bound against damaged files; the value is a guess.
  constexpr std::int64_t kMost = 4096;
  const bool fits = numbers->size() == 2 && (*numbers)[0] > 0 && (*numbers)[1] > 0 &&
                    (*numbers)[0] <= kMost && (*numbers)[1] <= kMost;
  if (!fits) return refusal(node, fmt::format("{} of two dimensions alone are read", attribute));
  return Extent{static_cast<int>((*numbers)[0]), static_cast<int>((*numbers)[1])};
}

Result<Extent> padding_of(const OnnxNode& node) {
  const auto found = node.attributes.find("auto_pad");
  if (found != node.attributes.end() && found->second.text != "NOTSET") {
    return refusal(node, "auto_pad is not read; export with explicit pads");
  }
  const auto* pads = integers_of(node, "pads");
  if (pads == nullptr) return Extent{0, 0};
  const bool even = pads->size() == 4 && (*pads)[0] == (*pads)[2] && (*pads)[1] == (*pads)[3] &&
                    (*pads)[0] >= 0 && (*pads)[1] >= 0 && (*pads)[0] < 64 && (*pads)[1] < 64;
  if (!even) return refusal(node, "pads that differ between the sides");
  return Extent{static_cast<int>((*pads)[0]), static_cast<int>((*pads)[1])};
}

// What the dimensions `dims` of a value may be after a reshape: its letters, or none.
std::string reshaped_axes(const std::string& from, const std::vector<std::int64_t>& dims,
                          const Shape& shape) {
  static constexpr std::pair<const char*, const char*> kRules[] = {
      {"NCHW", "NCT"},  {"NCT", "NCHW"}, {"NTC", "NHWC"}, {"NHWC", "NTC"},
      {"NTC", "NTQGD"}, {"NTGD", "NTC"}, {"TNRD", "TNC"}};
  const auto fits = [&](const std::string& to) {
    if (to.size() != dims.size()) return false;
    std::int64_t parts = 1;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::int64_t size = to[i] == 'N'   ? shape.n
                                : to[i] == 'C' ? shape.c
                                : to[i] == 'H' ? shape.h
                                : to[i] == 'W' ? shape.w
                                : to[i] == 'Q' ? 3
                                : to[i] == 'T' ? std::int64_t{shape.h} * shape.w
                                               : dims[i];
      if (size != dims[i] || size < 1) return false;
      if (to[i] == 'Q' || to[i] == 'G' || to[i] == 'D') parts *= size;
    }
    return parts == 1 || parts == shape.c;
  };
  for (const auto& [rule_from, to] : kRules) {
    if (from == rule_from && fits(to)) return to;
  }
  return from.find_first_of("QGRD") == std::string::npos && fits(from) ? from : "";
}

}  // namespace

Error refusal(const OnnxNode& node, const std::string& why) {
  return Error{ErrorKind::unsupported,
               fmt::format("operator {} ({}): {}", node.operation, node.name, why)};
}

std::int64_t integer_of(const OnnxNode& node, const char* attribute, std::int64_t otherwise) {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.integer;
}

double number_of(const OnnxNode& node, const char* attribute, double otherwise) {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.number;
}

bool nearly(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max({1.0, std::abs(a), std::abs(b)});
}

const std::vector<Translator::Row>& Translator::table() {
  static const std::vector<Row> rows = {
      {"Add", &Translator::binary},
      {"AveragePool", &Translator::pool},
      {"BatchNormalization", &Translator::batch_norm},
      {"Cast", &Translator::same},
      {"Clip", &Translator::clip},
      {"Concat", &Translator::concat},
      {"Constant", &Translator::constant},
      {"Conv", &Translator::conv},
      {"Div", &Translator::binary},
      {"Dropout", &Translator::same},
      {"Erf", &Translator::activate},
      {"Expand", &Translator::expand},
      {"Gather", &Translator::gather},
      {"GlobalAveragePool", &Translator::global_pool},
      {"HardSigmoid", &Translator::activate},
      {"HardSwish", &Translator::activate},
      {"Identity", &Translator::same},
      {"LSTM", &Translator::lstm},
      {"LayerNormalization", &Translator::layer_norm},
      {"MatMul", &Translator::mat_mul},
      {"MaxPool", &Translator::pool},
      {"Mul", &Translator::binary},
      {"Pow", &Translator::binary},
      {"ReduceMean", &Translator::reduce_mean},
      {"Relu", &Translator::activate},
      {"Reshape", &Translator::reshape},
      {"Shape", &Translator::shape},
      {"Sigmoid", &Translator::activate},
      {"Slice", &Translator::slice},
      {"Softmax", &Translator::softmax},
      {"Sqrt", &Translator::square_root},
      {"Squeeze", &Translator::squeeze},
      {"Sub", &Translator::binary},
      {"Transpose", &Translator::transpose},
      {"Unsqueeze", &Translator::unsqueeze},
  };
  return rows;
}

Translator::Translator(const OnnxFile& file, const Shape& sample)
    : file_(file), net_("imported", 3), shapes_{sample} {
  for (const auto& [name, tensor] : file.constants) {
    Tensor& constant = tensors_[name];
    constant.state = State::constant;
    constant.constant = &tensor;
    constant.dims = tensor.dims;
  }
  for (const OnnxValue& value : file.inputs) {
    if (file.constants.count(value.name) == 0) tensors_[value.name] = feature(0, "NCHW");
  }
}

Status Translator::run() {
  for (const OnnxNode& node : file_.nodes) {
    const auto& rows = table();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& candidate) {
      return node.domain.empty() && node.operation == candidate.operation;
    });
    if (row == rows.end()) return refusal(node, "the engine has no such operator");
    if (node.outputs.empty()) return refusal(node, "it has no output");
    tensors_[node.outputs[0]] = OCRTUNE_TRY((this->*row->translate)(node));
  }
  return Status();
}

Result<int> Translator::output() {
  const OnnxNode& last = file_.nodes.back();
  const auto found = tensors_.find(file_.outputs[0].name);
  if (found == tensors_.end()) return refusal(last, "no node makes the model's output");
  Tensor tensor = found->second;
  if (tensor.state == State::probabilities) tensor.state = State::feature;
  if (tensor.axes != "NTC") return refusal(last, "the output is not [lines, steps, classes]");
  const int value = OCRTUNE_TRY(value_of(last, tensor));
  if (shapes_[at(value)].h != 1) {
    return refusal(last, fmt::format("lines {} pixels high leave {} rows of features, not one",
                                     shapes_[0].h, shapes_[at(value)].h));
  }
  return value;
}

Tensor Translator::feature(int value, const std::string& axes) const {
  const Shape& shape = shapes_[at(value)];
  Tensor tensor;
  tensor.value = value;
  tensor.axes = axes;
  for (const char axis : axes) {
    tensor.dims.push_back(axis == 'N'   ? shape.n
                          : axis == 'C' ? shape.c
                          : axis == 'H' ? shape.h
                          : axis == 'W' ? shape.w
                                        : std::int64_t{shape.h} * shape.w);
  }
  return tensor;
}

Result<Tensor> Translator::input(const OnnxNode& node, std::size_t index) {
  if (index >= node.inputs.size()) return refusal(node, "an input is missing");
  const auto found = tensors_.find(node.inputs[index]);
  if (found == tensors_.end())
    return refusal(node, "nothing makes its input " + node.inputs[index]);
  return found->second;
}

Result<const OnnxTensor*> Translator::floats(const OnnxNode& node, std::size_t index) {
  const Tensor tensor = OCRTUNE_TRY(input(node, index));
  if (tensor.state != State::constant) return refusal(node, "weights that are computed");
  if (tensor.constant->type == OnnxTensor::Type::other) {
    return refusal(node, "weights of " + tensor.constant->type_name + "; export them as float32");
  }
  if (tensor.constant->type != OnnxTensor::Type::floats) return refusal(node, "integer weights");
  return tensor.constant;
}

Result<std::vector<std::int64_t>> Translator::integers(const OnnxNode& node, std::size_t index,
                                                       const char* attribute) {
  if (const auto* numbers = integers_of(node, attribute)) return *numbers;
  if (index >= node.inputs.size() || node.inputs[index].empty()) return std::vector<std::int64_t>();
  const Tensor tensor = OCRTUNE_TRY(input(node, index));
  if (tensor.state != State::constant || tensor.constant->type != OnnxTensor::Type::integers) {
    return refusal(node, fmt::format("{} that depend on the image", attribute));
  }
  return tensor.constant->integers;
}

Tensor Translator::integer_constant(std::vector<std::int64_t> numbers) {
  OnnxTensor made;
  made.type = OnnxTensor::Type::integers;
  made.dims = {static_cast<std::int64_t>(numbers.size())};
  made.integers = std::move(numbers);
  return computed(std::move(made));
}

Tensor Translator::computed(OnnxTensor made) {
  computed_.push_back(std::move(made));
  Tensor tensor;
  tensor.state = State::constant;
  tensor.constant = &computed_.back();
  tensor.dims = tensor.constant->dims;
  return tensor;
}

Result<int> Translator::add(const OnnxNode& node, const Operation& operation,
                            std::vector<int> inputs, Weights weights) {
  if (!std::holds_alternative<Conv>(operation) &&
      std::find(inputs.begin(), inputs.end(), 0) != inputs.end()) {
    return refusal(node, "the image must pass a convolution first");
  }
  Layer layer{node.name, operation, inputs, 0, {}, {}};
  std::vector<Shape> shapes;
  for (const int value : inputs) shapes.push_back(shapes_[at(value)]);
  const auto shape = output_shape(layer, shapes);
  if (!shape) return refusal(node, shape.error().what);
  const int value = net_.add(layer, inputs);
  shapes_.push_back(*shape);
  weights_.push_back(std::move(weights));
  return value;
}

Result<int> Translator::add_linear(const OnnxNode& node, const Tensor& product,
                                   const OnnxTensor* bias) {
  const std::int64_t in = product.weight->dims[0], out = product.weight->dims[1];
  Weights weights{{std::vector<float>(at(in) * at(out))}, {}};
  for (std::size_t i = 0; i < at(in); ++i) {
    for (std::size_t o = 0; o < at(out); ++o) {
      weights.parameters[0][o * at(in) + i] = product.weight->floats[i * at(out) + o];
    }
  }
  if (bias != nullptr) weights.parameters.push_back(bias->floats);
  return add(node, Linear{static_cast<int>(out), bias != nullptr}, {product.value},
             std::move(weights));
}

Result<int> Translator::value_of(const OnnxNode& node, const Tensor& x) {
  if (x.state == State::product) return add_linear(node, x, nullptr);
  if (x.state != State::feature || x.axes.find_first_of("QGRD") != std::string::npos) {
    return refusal(node,
                   "its input is only known as a step of a layer norm, of attention or of an LSTM");
  }
  if (x.activation == Activation::none && x.s0 == 1 && x.t0 == 0) return x.value;
  // A function that several nodes read becomes one layer.
  const auto key = std::tuple(x.value, x.s0, x.t0, x.activation, x.s1, x.t1);
  const auto made = made_.find(key);
  if (made != made_.end()) return made->second;
  const bool plain = x.activation != Activation::none && nearly(x.s0, 1) && nearly(x.t0, 0) &&
                     nearly(x.s1, 1) && nearly(x.t1, 0);
  const auto one = [](double number) { return std::vector<float>{static_cast<float>(number)}; };
  const int value = OCRTUNE_TRY(plain ? add(node, Activate{x.activation}, {x.value})
                                      : add(node, Affine{x.activation}, {x.value},
                                            {{one(x.s0), one(x.t0), one(x.s1), one(x.t1)}, {}}));
  made_[key] = value;
  return value;
}

Result<Tensor> Translator::constant(const OnnxNode& node) {
  const auto found = node.attributes.find("value");
  if (found == node.attributes.end()) return refusal(node, "a constant that is no tensor");
  Tensor tensor;
  tensor.state = State::constant;
  tensor.constant = &found->second.tensor;
  tensor.dims = tensor.constant->dims;
  return tensor;
}

Result<Tensor> Translator::same(const OnnxNode& node) { return input(node, 0); }

Result<Tensor> Translator::shape(const OnnxNode& node) {
  const Tensor x = OCRTUNE_TRY(input(node, 0));
  return integer_constant(x.dims);
}

// Of a constant along its first axis, or one of q, k, v.
Result<Tensor> Translator::slice(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  const auto starts = OCRTUNE_TRY(integers(node, 1, "starts"));
  const auto ends = OCRTUNE_TRY(integers(node, 2, "ends"));
  const auto axes = OCRTUNE_TRY(integers(node, 3, "axes"));
  const auto steps = OCRTUNE_TRY(integers(node, 4, "steps"));
  const bool simple = starts.size() == 1 && ends.size() == 1 && axes.size() <= 1 &&
                      (steps.empty() || steps == std::vector<std::int64_t>{1});
  if (!simple) return refusal(node, "slices along one axis with step 1 alone are read");
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  const std::int64_t axis = axes.empty() ? 0 : axes[0] < 0 ? axes[0] + rank : axes[0];
  if (axis < 0 || axis >= rank) return refusal(node, "an axis that is not there");
  const std::int64_t size = x.dims[at(axis)];
  const auto place = [&](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
  };
  const std::int64_t first = place(starts[0]), end = std::max(first, place(ends[0]));
  if (x.state == State::constant && x.constant->type == OnnxTensor::Type::integers && rank == 1) {
    const auto& all = x.constant->integers;
    return integer_constant({all.begin() + first, all.begin() + end});
  }
  if (x.state == State::constant && x.constant->type == OnnxTensor::Type::floats && axis == 0) {
    const auto& all = x.constant->floats;
    const std::int64_t row = size > 0 ? static_cast<std::int64_t>(all.size()) / size : 0;
    OnnxTensor part = *x.constant;
    part.dims[0] = end - first;
    part.floats.assign(all.begin() + first * row, all.begin() + end * row);
    return computed(std::move(part));
  }
  if (x.state != State::feature || x.axes[at(axis)] != 'Q' || end != first + 1) {
    return refusal(node, "it cuts a tensor that is not q, k and v");
  }
  x.part = static_cast<int>(first);
  x.dims[at(axis)] = 1;
  return x;
}

// Of one number alone, as the first state of an LSTM is made.
Result<Tensor> Translator::expand(const OnnxNode& node) {
  constexpr std::int64_t kMost = 1 << 24;
  const OnnxTensor* number = OCRTUNE_TRY(floats(node, 0));
  OnnxTensor all;
  all.type = OnnxTensor::Type::floats;
  all.dims = OCRTUNE_TRY(integers(node, 1, "shape"));
  std::int64_t count = 1;
  for (const std::int64_t side : all.dims)
    count = side < 1 || count > kMost ? kMost + 1 : count * side;
  if (number->floats.size() != 1 || count > kMost) {
    return refusal(node, "only one number is spread, over a tensor of known size");
  }
  all.floats.assign(at(count), number->floats[0]);
  return computed(std::move(all));
}

Result<Tensor> Translator::gather(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  const auto which = OCRTUNE_TRY(integers(node, 1, "indices"));
  const std::int64_t axis = integer_of(node, "axis", 0);
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  if (which.size() != 1 || axis < 0 || axis >= rank) return refusal(node, "more than one index");
  const std::int64_t index = which[0] < 0 ? which[0] + x.dims[at(axis)] : which[0];
  if (index < 0 || index >= x.dims[at(axis)]) return refusal(node, "an index that is not there");
  if (x.state == State::constant && x.constant->type == OnnxTensor::Type::integers && rank == 1) {
    return integer_constant({x.constant->integers[at(index)]});
  }
  if (x.state != State::feature || x.axes[at(axis)] != 'Q') {
    return refusal(node, "it cuts a tensor that is not q, k and v");
  }
  x.part = static_cast<int>(index);
  x.axes.erase(at(axis), 1);
  x.dims.erase(x.dims.begin() + axis);
  return x;
}

Result<Tensor> Translator::concat(const OnnxNode& node) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(OCRTUNE_TRY(input(node, i)));
  if (inputs.empty()) return refusal(node, "an input is missing");
  if (inputs[0].state == State::constant) {
    std::vector<std::int64_t> all;
    for (const Tensor& x : inputs) {
      if (x.state != State::constant || x.constant->type != OnnxTensor::Type::integers) {
        return refusal(node, "it joins constants and features");
      }
      all.insert(all.end(), x.constant->integers.begin(), x.constant->integers.end());
    }
    return integer_constant(std::move(all));
  }
  std::vector<int> values;
  const std::int64_t axis = integer_of(node, "axis", 0);
  for (const Tensor& x : inputs) {
    const auto own = static_cast<std::int64_t>(x.axes.find('C'));
    if (x.axes != inputs[0].axes ||
        (axis < 0 ? axis + static_cast<std::int64_t>(x.axes.size()) : axis) != own) {
      return refusal(node, "it joins along another axis than the channels");
    }
    values.push_back(OCRTUNE_TRY(value_of(node, x)));
    const Shape &first = shapes_[at(values[0])], &other = shapes_[at(values.back())];
    if (first.h != other.h || first.w != other.w) return refusal(node, "its inputs differ in size");
  }
  return feature(OCRTUNE_TRY(add(node, Concat{}, values)), inputs[0].axes);
}

Result<Tensor> Translator::squeeze(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  const auto axes = OCRTUNE_TRY(integers(node, 1, "axes"));
  // A constant keeps its numbers, and its dimensions stay as they were.
  if (x.state == State::constant) return x;
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  const std::int64_t axis = axes.size() != 1 ? -1 : axes[0] < 0 ? axes[0] + rank : axes[0];
  const bool known = axis >= 0 && axis < rank && x.state == State::feature;
  const char letter = known ? x.axes[at(axis)] : ' ';
  if ((letter != 'H' && letter != 'Q') || x.dims[at(axis)] != 1) {
    return refusal(node,
                   known && letter == 'H'
                       ? fmt::format("lines {} pixels high leave {} rows of features, not one",
                                     shapes_[0].h, x.dims[at(axis)])
                       : "it drops another axis than the height");
  }
  x.axes.erase(at(axis), 1);
  x.dims.erase(x.dims.begin() + axis);
  if (letter == 'H') std::replace(x.axes.begin(), x.axes.end(), 'W', 'T');
  return x;
}

Result<Tensor> Translator::unsqueeze(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  const auto axes = OCRTUNE_TRY(integers(node, 1, "axes"));
  if (x.state == State::constant) return x;
  const std::size_t steps = x.axes.find('T');
  const bool height = x.state == State::feature && steps != std::string::npos && axes.size() == 1 &&
                      axes[0] == static_cast<std::int64_t>(steps) && shapes_[at(x.value)].h == 1;
  if (!height) return refusal(node, "it adds another axis than the height");
  x.axes.replace(steps, 1, "HW");
  x.dims.insert(x.dims.begin() + axes[0], 1);
  return x;
}

Result<Tensor> Translator::reshape(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  auto dims = OCRTUNE_TRY(integers(node, 1, "shape"));
  if (x.state == State::constant) return x;
  if (x.state == State::product) x = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  std::int64_t known = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    // ONNX: 0 keeps the dimension, -1 stands for what is left.
    if (dims[i] == 0 && i < x.dims.size()) dims[i] = x.dims[i];
    if (dims[i] > (1 << 30)) return refusal(node, "a dimension of impossible size");
    if (dims[i] > 0 && known < (1 << 30)) known *= dims[i];
  }
  std::int64_t all = 1;
  for (const std::int64_t side : x.dims) all *= side;
  for (std::int64_t& side : dims) {
    if (side == -1) side = all / known;
  }
  const Shape& shape = shapes_[at(x.value)];
  const std::string axes = x.state == State::feature ? reshaped_axes(x.axes, dims, shape) : "";
  if (axes.empty()) {
    return refusal(node, fmt::format("no reshape from [{}] to [{}] is known",
                                     fmt::join(x.dims, ", "), fmt::join(dims, ", ")));
  }
  // A pending activation or scale becomes a layer before q, k and v are told apart.
  if (axes == "NTQGD") x = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  x.axes = axes;
  x.dims = std::move(dims);
  return x;
}

Result<Tensor> Translator::transpose(const OnnxNode& node) {
  Tensor x = OCRTUNE_TRY(input(node, 0));
  const auto* order = integers_of(node, "perm");
  if (x.state == State::product) x = feature(OCRTUNE_TRY(value_of(node, x)), x.axes);
  const bool fits = x.state == State::feature && order != nullptr && order->size() == x.axes.size();
  if (!fits) return refusal(node, "it turns a tensor that is no feature");
  Tensor turned = x;
  for (std::size_t i = 0; i < order->size(); ++i) {
    if ((*order)[i] < 0 || at((*order)[i]) >= x.axes.size()) return refusal(node, "a bad perm");
    turned.axes[i] = x.axes[at((*order)[i])];
    turned.dims[i] = x.dims[at((*order)[i])];
  }
  return turned;
}

Result<Tensor> Translator::conv(const OnnxNode& node) {
  const Tensor x = OCRTUNE_TRY(input(node, 0));
  const OnnxTensor* weight = OCRTUNE_TRY(floats(node, 1));
  if (!x.is_image() || weight->dims.size() != 4) return refusal(node, "not of two dimensions");
  const Extent dilation = OCRTUNE_TRY(extent_of(node, "dilations", 1));
  if (dilation != Extent{1, 1}) return refusal(node, "the engine has no dilation");
  const int value = OCRTUNE_TRY(value_of(node, x));
  const int in = shapes_[at(value)].c;
  Conv conv;
  conv.stride = OCRTUNE_TRY(extent_of(node, "strides", 1));
  conv.pad = OCRTUNE_TRY(padding_of(node));
  conv.bias = node.inputs.size() > 2 && !node.inputs[2].empty();
  const std::int64_t groups = integer_of(node, "group", 1), out = weight->dims[0];
  const bool fits = groups >= 1 && groups <= in && in % groups == 0 && out >= 1 &&
                    out < (1 << 20) && out % groups == 0 && weight->dims[1] == in / groups &&
                    weight->dims[2] >= 1 && weight->dims[2] < 64 && weight->dims[3] >= 1 &&
                    weight->dims[3] < 64;
  if (!fits) {
    return refusal(node, fmt::format("weights [{}] do not fit {} channels",
                                     fmt::join(weight->dims, ", "), in));
  }
  conv.groups = static_cast<int>(groups);
  conv.out_channels = static_cast<int>(out);
  conv.kernel = {static_cast<int>(weight->dims[2]), static_cast<int>(weight->dims[3])};
  Weights weights;
  weights.parameters.push_back(value != 0 ? weight->floats
                                          : with_red_first(weight->floats, conv.out_channels,
                                                           at(weight->dims[2] * weight->dims[3])));
  // The channels are turned round within a kernel, which groups would part.
  if (value == 0 && groups != 1) return refusal(node, "groups of image channels");
  if (conv.bias) weights.parameters.push_back(OCRTUNE_TRY(floats(node, 2))->floats);
  return feature(OCRTUNE_TRY(add(node, conv, {value}, std::move(weights))), "NCHW");
}

Result<Tensor> Translator::batch_norm(const OnnxNode& node) {
  const Tensor x = OCRTUNE_TRY(input(node, 0));
  if (!x.is_image()) return refusal(node, "not of two dimensions");
  Weights weights;
  for (const std::size_t i : {1, 2})
    weights.parameters.push_back(OCRTUNE_TRY(floats(node, i))->floats);
  for (const std::size_t i : {3, 4})
    weights.statistics.push_back(OCRTUNE_TRY(floats(node, i))->floats);
  BatchNorm norm;
  norm.epsilon = number_of(node, "epsilon", 1e-5);
  const int value = OCRTUNE_TRY(value_of(node, x));
  return feature(OCRTUNE_TRY(add(node, norm, {value}, std::move(weights))), "NCHW");
}

Result<Tensor> Translator::pool(const OnnxNode& node) {
  const Tensor x = OCRTUNE_TRY(input(node, 0));
  const Extent kernel = OCRTUNE_TRY(extent_of(node, "kernel_shape", 1));
  const Extent stride = OCRTUNE_TRY(extent_of(node, "strides", 1));
  const bool tiled = x.is_image() && kernel == stride &&
                     OCRTUNE_TRY(padding_of(node)) == Extent{0, 0} &&
                     OCRTUNE_TRY(extent_of(node, "dilations", 1)) == Extent{1, 1} &&
                     integer_of(node, "ceil_mode", 0) == 0;
  if (!tiled) return refusal(node, "windows that overlap or leave the image are not read");
  const int value = OCRTUNE_TRY(value_of(node, x));
  const int pooled =
      OCRTUNE_TRY(node.operation == "MaxPool" ? add(node, MaxPool{kernel}, {value})
                                              : add(node, AveragePool{kernel}, {value}));
  return feature(pooled, "NCHW");
}

Result<Tensor> Translator::global_pool(const OnnxNode& node) {
  const Tensor x = OCRTUNE_TRY(input(node, 0));
  if (!x.is_image()) return refusal(node, "not of two dimensions");
  const int value = OCRTUNE_TRY(value_of(node, x));
  return feature(OCRTUNE_TRY(add(node, AveragePool{{0, 0}}, {value})), "NCHW");
}

}  // namespace ocrtune::onnx
