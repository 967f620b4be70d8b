// Walks the layers of an inference form and appends protobuf bytes of nodes and constants; the
// graph is put around them at the end. A value is turned between image and tokens only where a
// layer wants the other form, and once.
#include "core/onnx/onnx_export.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/onnx/onnx_bytes.h"
#include "core/onnx/onnx_file.h"
#include "core/onnx/onnx_recognizer.h"

namespace ocrtune {
namespace {

using namespace onnx;
using Numbers = std::vector<std::int64_t>;

constexpr int kOpset = 17, kFormat = 8;
constexpr int kSampleLineWidth = 320;  // shapes are followed with it; widths stay open
constexpr std::array<std::size_t, 4> kGateOrder = {0, 3, 1, 2};  // of ONNX's, the engine's place

std::size_t place_of(int index) { return static_cast<std::size_t>(index); }

// Field numbers: onnx/onnx.proto3.
std::string attribute(const char* name, std::int64_t number) {
  return bytes_field(5, bytes_field(1, name) + number_field(3, static_cast<std::uint64_t>(number)) +
                            number_field(20, 2));
}
std::string attribute(const char* name, const Numbers& numbers) {
  std::string body = bytes_field(1, name);
  for (const std::int64_t number : numbers) {
    body += number_field(8, static_cast<std::uint64_t>(number));
  }
  return bytes_field(5, body + number_field(20, 7));
}
std::string attribute(const char* name, double number) {
  return bytes_field(
      5, bytes_field(1, name) + float_field(2, static_cast<float>(number)) + number_field(20, 1));
}
std::string text_attribute(const char* name, std::string_view text) {
  return bytes_field(5, bytes_field(1, name) + bytes_field(4, text) + number_field(20, 3));
}

// A value's name and shape; a side of 0 is open.
std::string value_field(int field, const char* name, const Numbers& dims) {
  std::string shape;
  for (const std::int64_t side : dims) {
    shape += bytes_field(
        1, side > 0 ? number_field(1, static_cast<std::uint64_t>(side)) : std::string());
  }
  return bytes_field(
      field, bytes_field(1, name) +
                 bytes_field(2, bytes_field(1, number_field(1, 1) + bytes_field(2, shape))));
}

// Adds the nodes of one layer after another. A value is known as an image [N, C, H, W], as tokens
// [N, H W, C], or as both.
class OnnxExporter {
 public:
  OnnxExporter(const Graph& graph, std::span<const float> parameters,
               std::span<const float> statistics, std::vector<Shape> shapes)
      : graph_(graph),
        parameters_(parameters),
        statistics_(statistics),
        shapes_(std::move(shapes)),
        images_{{0, "image"}} {}

  Result<std::string> make() {
    for (const Layer& layer : graph_.layers) {
      layer_ = &layer;
      OCRTUNE_TRY(
          std::visit([&](const auto& operation) { return add(operation); }, layer.operation));
    }
    node("Softmax", {tokens(graph_.output)}, attribute("axis", std::int64_t{-1}), "probabilities");
    const Shape& output = shapes_[place_of(graph_.output)];
    const std::string graph = nodes_ + bytes_field(2, "recogniser") + constants_ +
                              value_field(11, "image", {0, 3, shapes_[0].h, 0}) +
                              value_field(12, "probabilities", {0, 0, output.c});
    return number_field(1, kFormat) + bytes_field(2, "ocrtune") + bytes_field(7, graph) +
           bytes_field(8, bytes_field(1, "") + number_field(2, kOpset));
  }

 private:
  std::string node(const char* operation, const std::vector<std::string>& inputs,
                   const std::string& attributes = "", std::string output = "") {
    if (output.empty()) output = fmt::format("v{}", ++names_);
    std::string body;
    for (const std::string& input : inputs) body += bytes_field(1, input);
    body += bytes_field(2, output) + bytes_field(3, fmt::format("{}:{}", layer_->name, output)) +
            bytes_field(4, operation);
    nodes_ += bytes_field(1, body + attributes);
    return output;
  }
  std::string constant(int type, const Numbers& dims, const std::string& raw) {
    std::string name = fmt::format("c{}", ++names_);
    std::string body;
    for (const std::int64_t side : dims) body += number_field(1, static_cast<std::uint64_t>(side));
    body += number_field(2, static_cast<std::uint64_t>(type)) + bytes_field(8, name);
    constants_ += bytes_field(5, body + bytes_field(9, raw));
    return name;
  }
  template <typename Number, typename Bits>
  static std::string little_endian(std::span<const Number> numbers) {
    std::string raw;
    raw.reserve(numbers.size() * sizeof(Number));
    for (const Number number : numbers) {
      const auto bits = std::bit_cast<Bits>(number);
      for (std::size_t i = 0; i < sizeof bits; ++i) raw += static_cast<char>(bits >> 8 * i & 0xFF);
    }
    return raw;
  }
  std::string floats(const Numbers& dims, std::span<const float> numbers) {
    return constant(1, dims, little_endian<float, std::uint32_t>(numbers));
  }
  std::string number(double value) {
    const auto one = static_cast<float>(value);
    return floats({}, {&one, 1});
  }
  std::string integers(const Numbers& numbers) {
    return constant(7, {static_cast<std::int64_t>(numbers.size())},
                    little_endian<std::int64_t, std::uint64_t>(numbers));
  }

  std::span<const float> parameter(std::size_t i) const {
    const Parameter& own = graph_.parameters[place_of(layer_->parameters[i])];
    return parameters_.subspan(own.offset, own.count);
  }
  std::span<const float> statistic(std::size_t i) const {
    const Parameter& own = graph_.statistics[place_of(layer_->statistics[i])];
    return statistics_.subspan(own.offset, own.count);
  }
  // As it stands, with its own shape.
  std::string weight(std::size_t i) {
    const auto& extent = graph_.parameters[place_of(layer_->parameters[i])].extent;
    return floats({extent.begin(), extent.end()}, parameter(i));
  }

  int input() const { return layer_->inputs[0]; }
  const Shape& in() const { return shapes_[place_of(input())]; }
  Error refuse(const char* why) const {
    return Error{ErrorKind::unsupported, fmt::format("layer {}: {}", layer_->name, why)};
  }

  std::string image(int value) {
    std::string& name = images_[value];
    if (!name.empty()) return name;
    const Shape& shape = shapes_[place_of(value)];
    const std::string turned =
        node("Transpose", {tokens_[value]}, attribute("perm", Numbers{0, 2, 1}));
    return name = node("Reshape", {turned, integers({0, shape.c, shape.h, -1})});
  }
  std::string tokens(int value) {
    std::string& name = tokens_[value];
    if (!name.empty()) return name;
    const std::string flat =
        node("Reshape", {images_[value], integers({0, shapes_[place_of(value)].c, -1})});
    return name = node("Transpose", {flat}, attribute("perm", Numbers{0, 2, 1}));
  }
  Status is_image(std::string name) {
    images_[layer_->output] = std::move(name);
    return Status();
  }
  Status is_tokens(std::string name) {
    tokens_[layer_->output] = std::move(name);
    return Status();
  }
  // In the form that the first input has, with all inputs in it.
  template <typename Make>
  Status in_either_form(const Make& make) {
    const bool as_tokens = images_.count(input()) == 0;
    std::vector<std::string> names;
    for (const int value : layer_->inputs) {
      names.push_back(as_tokens ? tokens(value) : image(value));
    }
    return as_tokens ? is_tokens(make(names)) : is_image(make(names));
  }

  std::string activated(const std::string& x, Activation activation) {
    if (activation == Activation::relu) return node("Relu", {x});
    if (activation == Activation::hard_swish) return node("HardSwish", {x});
    if (activation == Activation::hard_sigmoid) {
      return node("HardSigmoid", {x}, attribute("alpha", 1.0 / 6) + attribute("beta", 0.5));
    }
    if (activation == Activation::swish) return node("Mul", {x, node("Sigmoid", {x})});
    if (activation == Activation::none) return x;
    const std::string erf = node("Erf", {node("Mul", {x, number(std::numbers::sqrt2 / 2)})});
    return node("Mul", {node("Mul", {x, node("Add", {erf, number(1)})}), number(0.5)});
  }
  std::string scaled(const std::string& x, float scale, float shift) {
    return node("Add", {node("Mul", {x, number(scale)}), number(shift)});
  }

  Status add(const Conv& conv) {
    if (conv.branches != 1) return refuse("branches that have not been joined");
    std::vector<std::string> inputs = {image(input()), input() == 0 ? blue_first() : weight(0)};
    if (conv.bias) inputs.push_back(weight(1));
    std::string x =
        node("Conv", inputs,
             attribute("kernel_shape", Numbers{conv.kernel.h, conv.kernel.w}) +
                 attribute("strides", Numbers{conv.stride.h, conv.stride.w}) +
                 attribute("pads", Numbers{conv.pad.h, conv.pad.w, conv.pad.h, conv.pad.w}) +
                 attribute("group", std::int64_t{conv.groups}));
    x = activated(x, conv.activation);
    const std::size_t behind = conv.bias ? 2 : 1;
    if (conv.affine) x = scaled(x, parameter(behind)[0], parameter(behind + 1)[0]);
    return is_image(x);
  }
  // The engine's images have red first.
  std::string blue_first() {
    const auto& extent = graph_.parameters[place_of(layer_->parameters[0])].extent;
    std::vector<float> turned(parameter(0).begin(), parameter(0).end());
    const auto window = std::ptrdiff_t{extent[2]} * extent[3];
    for (auto first = turned.begin(); first != turned.end(); first += 3 * window) {
      std::swap_ranges(first, first + window, first + 2 * window);
    }
    return floats({extent.begin(), extent.end()}, turned);
  }
  Status add(const BatchNorm& norm) {
    const std::int64_t c = in().c;
    std::string x = node("BatchNormalization",
                         {image(input()), weight(0), weight(1), floats({c}, statistic(0)),
                          floats({c}, statistic(1))},
                         attribute("epsilon", norm.epsilon));
    x = activated(x, norm.activation);
    return norm.pool == Extent{1, 1} ? is_image(x) : pooled(x, "MaxPool", norm.pool);
  }
  Status add(const BiLstm& lstm) {
    const auto h = static_cast<std::size_t>(lstm.hidden), c = place_of(in().c);
    const std::int64_t rows = 4 * std::int64_t{lstm.hidden};
    std::vector<float> bias;
    for (const std::size_t direction : {0, 1}) {
      for (const std::size_t i : {2, 3}) append_gates(parameter(i), direction, h, bias);
    }
    // ONNX's LSTM takes [steps, lines, channels] and gives [steps, directions, lines, hidden].
    const std::string x = node("Transpose", {tokens(input())}, attribute("perm", Numbers{1, 0, 2}));
    const std::string both = node(
        "LSTM",
        {x, floats({2, rows, in().c}, gates(parameter(0), h * c)),
         floats({2, rows, lstm.hidden}, gates(parameter(1), h * h)), floats({2, 2 * rows}, bias)},
        text_attribute("direction", "bidirectional") +
            attribute("hidden_size", std::int64_t{lstm.hidden}));
    const std::string lines = node("Transpose", {both}, attribute("perm", Numbers{0, 2, 1, 3}));
    const std::string joined = node("Reshape", {lines, integers({0, 0, -1})});
    return is_tokens(node("Transpose", {joined}, attribute("perm", Numbers{1, 0, 2})));
  }
  // One direction's four gates of `gate` numbers each, in ONNX's order.
  static void append_gates(std::span<const float> from, std::size_t direction, std::size_t gate,
                           std::vector<float>& to) {
    for (const std::size_t place : kGateOrder) {
      const auto part = from.subspan((4 * direction + place) * gate, gate);
      to.insert(to.end(), part.begin(), part.end());
    }
  }
  static std::vector<float> gates(std::span<const float> from, std::size_t gate) {
    std::vector<float> to;
    for (const std::size_t direction : {0, 1}) append_gates(from, direction, gate, to);
    return to;
  }
  Status add(const Linear& linear) {
    const std::size_t ins = place_of(in().c), outs = place_of(linear.out_channels);
    // MatMul multiplies from the right: its weights are [in, out], the engine's [out, in].
    std::vector<float> turned(ins * outs);
    for (std::size_t o = 0; o < outs; ++o) {
      for (std::size_t i = 0; i < ins; ++i) turned[i * outs + o] = parameter(0)[o * ins + i];
    }
    const std::string product =
        node("MatMul", {tokens(input()), floats({in().c, linear.out_channels}, turned)});
    return is_tokens(linear.bias ? node("Add", {product, weight(1)}) : product);
  }
  Status add(const Sum&) {
    return in_either_form([&](const std::vector<std::string>& x) {
      std::string sum = x[0];
      for (std::size_t i = 1; i < x.size(); ++i) sum = node("Add", {sum, x[i]});
      return sum;
    });
  }
  Status add(const LayerNorm& norm) {
    return is_tokens(
        node("LayerNormalization", {tokens(input()), weight(0), weight(1)},
             attribute("axis", std::int64_t{-1}) + attribute("epsilon", norm.epsilon)));
  }
  Status add(const Attention& attention) {
    const std::int64_t c = in().c / 3, width = c / attention.heads;
    // [N, T, 3C] becomes [3, N, heads, T, width], of which Gather takes q, k and v.
    const std::string heads =
        node("Reshape", {tokens(input()), integers({0, -1, 3, attention.heads, width})});
    const std::string parts = node("Transpose", {heads}, attribute("perm", Numbers{2, 0, 3, 1, 4}));
    const auto part = [&](std::int64_t which) {
      const std::string index = constant(
          7, {},
          little_endian<std::int64_t, std::uint64_t>(std::span<const std::int64_t>(&which, 1)));
      return node("Gather", {parts, index}, attribute("axis", std::int64_t{0}));
    };
    const std::string q = node("Mul", {part(0), number(1 / std::sqrt(static_cast<double>(width)))});
    const std::string k = node("Transpose", {part(1)}, attribute("perm", Numbers{0, 1, 3, 2}));
    const std::string shares =
        node("Softmax", {node("MatMul", {q, k})}, attribute("axis", std::int64_t{-1}));
    const std::string mixed = node("Transpose", {node("MatMul", {shares, part(2)})},
                                   attribute("perm", Numbers{0, 2, 1, 3}));
    return is_tokens(node("Reshape", {mixed, integers({0, -1, c})}));
  }
  Status add(const Activate& activate) {
    return in_either_form(
        [&](const std::vector<std::string>& x) { return activated(x[0], activate.activation); });
  }
  Status add(const Affine& affine) {
    return in_either_form([&](const std::vector<std::string>& x) {
      const std::string inner = scaled(x[0], parameter(0)[0], parameter(1)[0]);
      return scaled(activated(inner, affine.activation), parameter(2)[0], parameter(3)[0]);
    });
  }
  Status add(const Concat&) {
    std::vector<std::string> inputs;
    for (const int value : layer_->inputs) inputs.push_back(image(value));
    return is_image(node("Concat", inputs, attribute("axis", std::int64_t{1})));
  }
  Status add(const AveragePool& pool) { return pooled(image(input()), "AveragePool", pool.kernel); }
  Status add(const MaxPool& pool) { return pooled(image(input()), "MaxPool", pool.kernel); }
  Status pooled(const std::string& x, const std::string& operation, const Extent& kernel) {
    if (kernel == Extent{0, 0}) return is_image(node(("Global" + operation).c_str(), {x}));
    if (kernel.w == 0) return refuse("a pool over the whole width alone");
    const Numbers window = {kernel.h == 0 ? in().h : kernel.h, kernel.w};
    return is_image(node(operation.c_str(), {x},
                         attribute("kernel_shape", window) + attribute("strides", window)));
  }
  Status add(const Scale&) {
    return is_image(node("Mul", {image(input()), image(layer_->inputs[1])}));
  }
  Status add(const NormSum&) { return refuse("branches that have not been joined"); }

  const Graph& graph_;
  std::span<const float> parameters_, statistics_;
  std::vector<Shape> shapes_;  // of each value, of one sample line
  std::map<int, std::string> images_, tokens_;
  const Layer* layer_ = nullptr;
  std::string nodes_, constants_;
  int names_ = 0;
};

}  // namespace

Result<std::string> write_onnx_recognizer(const Graph& graph, std::span<const float> parameters,
                                          std::span<const float> statistics,
                                          const Alphabet& alphabet, int height) {
  auto shapes = OCRTUNE_TRY(infer_shapes(graph, {1, 3, height, kSampleLineWidth}));
  const std::string model =
      OCRTUNE_TRY(OnnxExporter(graph, parameters, statistics, std::move(shapes)).make());
  std::string dictionary;
  for (const std::string& character : alphabet.characters()) {
    const bool last = &character == &alphabet.characters().back();
    if (!last || character != " ") dictionary += character + "\n";
  }
  return model + onnx_metadata_bytes(kDictionaryKey, dictionary) +
         onnx_metadata_bytes(kHeightKey, std::to_string(height));
}

}  // namespace ocrtune
