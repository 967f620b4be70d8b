// Small ONNX files made in memory, and a tiny recogniser of the kind of PaddleOCR's.
//
// Operators are taken apart as Paddle's exporter does it. Source: onnx/onnx.proto3.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/onnx/onnx_file.h"

namespace ocrtune {

inline std::string proto_number(std::uint64_t number) {
  std::string text;
  for (; number >= 0x80; number >>= 7) text += static_cast<char>(number | 0x80);
  return text + static_cast<char>(number);
}
inline std::string proto_field(int field, std::int64_t number) {
  return proto_number(static_cast<std::uint64_t>(field) << 3) +
         proto_number(static_cast<std::uint64_t>(number));
}
inline std::string proto_field(int field, std::string_view bytes) {
  return proto_number(static_cast<std::uint64_t>(field) << 3 | 2) + proto_number(bytes.size()) +
         std::string(bytes);
}
inline std::string proto_float(int field, float number) {
  return proto_number(static_cast<std::uint64_t>(field) << 3 | 5) +
         std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

class OnnxWriter {
 public:
  using Dims = std::vector<std::int64_t>;

  void floats(const std::string& name, const Dims& dims, const std::vector<float>& numbers) {
    tensor(name, dims, 1, numbers.data(), numbers.size() * sizeof(float));
  }
  void integers(const std::string& name, const Dims& numbers) {
    tensor(name, {static_cast<std::int64_t>(numbers.size())}, 7, numbers.data(),
           numbers.size() * sizeof(std::int64_t));
  }
  // Small seeded numbers.
  void weights(const std::string& name, const Dims& dims, float low = -0.5F, float high = 0.5F) {
    std::size_t count = 1;
    for (const std::int64_t side : dims) count *= static_cast<std::size_t>(side);
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(random_.uniform(low, high));
    floats(name, dims, numbers);
  }
  void tensor(const std::string& name, const Dims& dims, int type, const void* bytes,
              std::size_t size) {
    std::string body;
    for (const std::int64_t side : dims) body += proto_field(1, side);
    body += proto_field(2, type) + proto_field(8, name);
    body += proto_field(9, std::string_view(static_cast<const char*>(bytes), size));
    initializers_ += proto_field(5, body);
  }
  // `attributes`: encoded with the functions below. The output is called as the node.
  std::string node(const std::string& operation, const std::vector<std::string>& inputs,
                   const std::string& output, const std::string& attributes = "") {
    std::string body;
    for (const std::string& input : inputs) body += proto_field(1, input);
    body += proto_field(2, output) + proto_field(4, operation) + attributes;
    nodes_ += proto_field(1, body);
    return output;
  }
  static std::string attribute(const std::string& name, const Dims& numbers) {
    std::string body = proto_field(1, name);
    for (const std::int64_t number : numbers) body += proto_field(8, number);
    return proto_field(5, body + proto_field(20, std::int64_t{7}));
  }
  static std::string attribute(const std::string& name, std::int64_t number) {
    return proto_field(
        5, proto_field(1, name) + proto_field(3, number) + proto_field(20, std::int64_t{2}));
  }
  static std::string attribute(const std::string& name, float number) {
    return proto_field(
        5, proto_field(1, name) + proto_float(2, number) + proto_field(20, std::int64_t{1}));
  }
  static std::string attribute(const std::string& name, std::string_view text) {
    return proto_field(
        5, proto_field(1, name) + proto_field(4, text) + proto_field(20, std::int64_t{3}));
  }
  static std::string conv(int kernel, int stride, int group = 1) {
    const int pad = kernel / 2;
    return attribute("kernel_shape", Dims{kernel, kernel}) +
           attribute("strides", Dims{stride, stride}) +
           attribute("pads", Dims{pad, pad, pad, pad}) + attribute("group", std::int64_t{group});
  }

  // Dimension 0: not fixed.
  std::string model(const Dims& image, const std::string& output, std::size_t output_rank,
                    int opset = 12) const {
    const std::string graph = nodes_ + proto_field(2, "net") + initializers_ +
                              proto_field(11, value("image", image)) +
                              proto_field(12, value(output, Dims(output_rank, 0)));
    return proto_field(1, std::int64_t{8}) +
           proto_field(8, proto_field(1, "") + proto_field(2, std::int64_t{opset})) +
           proto_field(7, graph);
  }

 private:
  static std::string value(const std::string& name, const Dims& dims) {
    std::string shape;
    for (const std::int64_t side : dims) {
      shape += proto_field(1, side > 0 ? proto_field(1, side) : proto_field(2, "n"));
    }
    return proto_field(1, name) +
           proto_field(2, proto_field(1, proto_field(1, std::int64_t{1}) + proto_field(2, shape)));
  }

  Random random_{7};
  std::string nodes_, initializers_;
};

// Adds x hard_swish as five nodes.
inline std::string write_hard_swish(OnnxWriter& net, const std::string& x) {
  net.node("Add", {x, "three"}, x + ".add");
  net.node("Clip", {x + ".add", "zero", "six"}, x + ".clip");
  net.node("Mul", {x, x + ".clip"}, x + ".mul");
  return net.node("Div", {x + ".mul", "six"}, x + ".swish");
}

// Over 8 channels, as nine nodes.
inline std::string write_layer_norm(OnnxWriter& net, const std::string& x) {
  const std::string last = OnnxWriter::attribute("axes", OnnxWriter::Dims{-1});
  net.node("ReduceMean", {x}, x + ".mean", last);
  net.node("Sub", {x, x + ".mean"}, x + ".centred");
  net.node("Pow", {x + ".centred", "two"}, x + ".squared");
  net.node("ReduceMean", {x + ".squared"}, x + ".variance", last);
  net.node("Add", {x + ".variance", "epsilon"}, x + ".sum");
  net.node("Sqrt", {x + ".sum"}, x + ".deviation");
  net.node("Div", {x + ".centred", x + ".deviation"}, x + ".normed");
  net.node("Mul", {x + ".normed", "norm.scale"}, x + ".scaled");
  return net.node("Add", {x + ".scaled", "norm.shift"}, x + ".norm");
}

// Two heads of 4 over 8 channels; the shape of tokens is computed, as exporters have it.
inline std::string write_attention(OnnxWriter& net, const std::string& x) {
  using Dims = OnnxWriter::Dims;
  net.node("MatMul", {x, "qkv.weight"}, "qkv.product");
  net.node("Add", {"qkv.product", "qkv.bias"}, "qkv");
  net.node("Shape", {x}, "tokens.shape");
  net.node("Slice", {"tokens.shape", "i1", "i2", "i0", "i1"}, "tokens");
  net.node("Concat", {"i0", "tokens", "i3", "i2", "i4"}, "heads.shape",
           OnnxWriter::attribute("axis", std::int64_t{0}));
  net.node("Reshape", {"qkv", "heads.shape"}, "heads");
  net.node("Transpose", {"heads"}, "parts", OnnxWriter::attribute("perm", Dims{2, 0, 3, 1, 4}));
  for (const int part : {0, 1, 2}) {
    const std::string name(1, "qkv"[part]);
    const std::string first = "i" + std::to_string(part), end = "i" + std::to_string(part + 1);
    net.node("Slice", {"parts", first, end, "i0", "i1"}, name + ".slice");
    net.node("Squeeze", {name + ".slice"}, name, OnnxWriter::attribute("axes", Dims{0}));
  }
  net.node("Mul", {"q", "half"}, "q.scaled");
  net.node("Transpose", {"k"}, "k.turned", OnnxWriter::attribute("perm", Dims{0, 1, 3, 2}));
  net.node("MatMul", {"q.scaled", "k.turned"}, "scores");
  net.node("Softmax", {"scores"}, "shares", OnnxWriter::attribute("axis", std::int64_t{3}));
  net.node("MatMul", {"shares", "v"}, "mixed");
  net.node("Transpose", {"mixed"}, "mixed.turned", OnnxWriter::attribute("perm", Dims{0, 2, 1, 3}));
  net.node("Concat", {"i0", "tokens", "i8"}, "mixed.shape",
           OnnxWriter::attribute("axis", std::int64_t{0}));
  return net.node("Reshape", {"mixed.turned", "mixed.shape"}, "attention");
}

// A recogniser of lines 16 pixels high: convolution, batch norm, hard swish, learnable affine
// numbers, squeeze and excite, pooling, attention between residuals, `classes` classes.
inline std::string tiny_recognizer(int classes, int opset = 12) {
  using Dims = OnnxWriter::Dims;
  OnnxWriter net;
  for (const int number : {0, 1, 2, 3, 4, 8}) net.integers("i" + std::to_string(number), {number});
  net.floats("zero", {}, {0});
  net.floats("two", {}, {2});
  net.floats("three", {1}, {3});
  net.floats("six", {1}, {6});
  net.floats("half", {1}, {0.5});
  net.floats("epsilon", {}, {1e-5F});
  net.floats("s0", {1}, {1.25});
  net.floats("t1", {1}, {-0.25});
  net.weights("stem.weight", {8, 3, 3, 3});
  for (const char* name : {"bn.scale", "bn.shift", "bn.mean", "norm.scale", "norm.shift"}) {
    net.weights(name, {8});
  }
  net.weights("bn.variance", {8}, 0.5F, 2.0F);
  net.weights("depthwise.weight", {8, 1, 3, 3});
  net.weights("depthwise.bias", {8});
  net.weights("squeeze.weight", {8, 8, 1, 1});
  net.weights("squeeze.bias", {8});
  net.weights("qkv.weight", {8, 24});
  net.weights("qkv.bias", {24});
  net.weights("classes.weight", {8, classes}, -2, 2);
  net.weights("classes.bias", {classes});

  net.node("Conv", {"image", "stem.weight"}, "stem", OnnxWriter::conv(3, 2));
  net.node("BatchNormalization", {"stem", "bn.scale", "bn.shift", "bn.mean", "bn.variance"}, "bn",
           OnnxWriter::attribute("epsilon", 1e-5F));
  const std::string swish = write_hard_swish(net, "bn");
  net.node("Conv", {swish, "depthwise.weight", "depthwise.bias"}, "depthwise",
           OnnxWriter::conv(3, 1, 8));
  net.node("Mul", {"s0", "depthwise"}, "rep");
  net.node("Add", {write_hard_swish(net, "rep"), "t1"}, "block");
  net.node("GlobalAveragePool", {"block"}, "pooled");
  net.node("Conv", {"pooled", "squeeze.weight", "squeeze.bias"}, "squeeze", OnnxWriter::conv(1, 1));
  net.node("HardSigmoid", {"squeeze"}, "gate",
           OnnxWriter::attribute("alpha", 1.0F / 6) + OnnxWriter::attribute("beta", 0.5F));
  net.node("Mul", {"block", "gate"}, "excited");
  net.node("AveragePool", {"excited"}, "rows",
           OnnxWriter::attribute("kernel_shape", Dims{8, 2}) +
               OnnxWriter::attribute("strides", Dims{8, 2}));
  net.node("Squeeze", {"rows"}, "steps", OnnxWriter::attribute("axes", Dims{2}));
  net.node("Transpose", {"steps"}, "x", OnnxWriter::attribute("perm", Dims{0, 2, 1}));
  const std::string attention = write_attention(net, write_layer_norm(net, "x"));
  net.node("Add", {"x", attention}, "sum");
  net.node("Mul", {"sum", "three"}, "wide");
  net.node("Sigmoid", {"wide"}, "sigmoid");
  net.node("Mul", {"wide", "sigmoid"}, "swish");
  net.node("MatMul", {"swish", "classes.weight"}, "product");
  net.node("Add", {"product", "classes.bias"}, "logits");
  net.node("Softmax", {"logits"}, "probabilities", OnnxWriter::attribute("axis", std::int64_t{2}));
  return net.model({0, 3, 16, 0}, "probabilities", 3, opset);
}

// The tail of a CRNN: one convolution, two bidirectional LSTMs, `classes` classes.
inline std::string tiny_crnn(int classes, const std::string& direction = "bidirectional",
                             float first_state = 0) {
  using Dims = OnnxWriter::Dims;
  constexpr std::int64_t kHidden = 6;
  OnnxWriter net;
  net.weights("stem.weight", {8, 3, 3, 3});
  net.floats("state", {2, 1, kHidden}, std::vector<float>(2 * kHidden, first_state));
  net.integers("steps first", {0, 0, -1});
  net.weights("classes.weight", {2 * kHidden, classes}, -2, 2);
  net.weights("classes.bias", {classes});
  net.node("Conv", {"image", "stem.weight"}, "stem", OnnxWriter::conv(3, 2));
  net.node("Relu", {"stem"}, "relu");
  net.node("AveragePool", {"relu"}, "rows",
           OnnxWriter::attribute("kernel_shape", Dims{8, 1}) +
               OnnxWriter::attribute("strides", Dims{8, 1}));
  net.node("Squeeze", {"rows"}, "steps", OnnxWriter::attribute("axes", Dims{2}));
  std::string x =
      net.node("Transpose", {"steps"}, "x", OnnxWriter::attribute("perm", Dims{2, 0, 1}));
  for (const std::string name : {"lstm1", "lstm2"}) {
    net.weights(name + ".w", {2, 4 * kHidden, name == "lstm1" ? 8 : 2 * kHidden}, -1, 1);
    net.weights(name + ".r", {2, 4 * kHidden, kHidden}, -1, 1);
    net.weights(name + ".b", {2, 8 * kHidden}, -1, 1);
    net.node("LSTM", {x, name + ".w", name + ".r", name + ".b", "", "state", "state"}, name,
             OnnxWriter::attribute("direction", direction) +
                 OnnxWriter::attribute("hidden_size", kHidden));
    net.node("Transpose", {name}, name + ".turned",
             OnnxWriter::attribute("perm", Dims{0, 2, 1, 3}));
    x = net.node("Reshape", {name + ".turned", "steps first"}, name + ".joined");
  }
  net.node("Transpose", {x}, "lines", OnnxWriter::attribute("perm", Dims{1, 0, 2}));
  net.node("MatMul", {"lines", "classes.weight"}, "product");
  net.node("Add", {"product", "classes.bias"}, "logits");
  return net.model({0, 3, 16, 0}, "logits", 3);
}

// With this dictionary in its metadata, one character a line.
inline std::string tiny_recognizer_with(std::string_view dictionary, int classes) {
  return tiny_recognizer(classes) + onnx_metadata_bytes("character", dictionary);
}

}  // namespace ocrtune
