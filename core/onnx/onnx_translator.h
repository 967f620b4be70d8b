// ONNX nodes one after another, each as what it means to the engine. Private to core/onnx.
//
// Exporters take operators apart: a hard swish is five nodes, a layer norm nine, attention about
// thirty. Each tensor therefore carries a meaning (State) that grows node by node, and a layer is
// added once its last node is there. Shapes are followed with numbers, of one sample batch, so that
// nodes which compute shapes are computed.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "core/graph/graph.h"
#include "core/onnx/onnx_file.h"

namespace ocrtune::onnx {

// Of a value x of the engine. Those up to `erf` are per number, the rest are steps on the way to a
// layer.
enum class State {
  constant,
  feature,        // s1 act(s0 x + t0) + t1
  sigmoid,        // 1 / (1 + exp(-(s0 x + t0)))
  erf,            // s1 erf(s0 x + t0) + t1
  mean,           // of x over its channels
  centred,        // x - mean
  squared,        // centred^2
  variance,       // mean of squared, + epsilon
  deviation,      // sqrt(variance)
  normalised,     // centred / deviation
  scaled,         // normalised * weight
  product,        // x times the matrix `weight`
  scores,         // queries times keys, times `factor`
  weights,        // softmax of scores
  probabilities,  // softmax over the classes
};

struct Tensor {
  State state = State::feature;
  const OnnxTensor* constant = nullptr;
  int value = 0;  // of the engine
  // A letter for each dimension: N, C, H, W; T = H W; C as Q (q, k, v), G heads, D of each; of an
  // LSTM C as R directions, D of each.
  std::string axes;
  std::vector<std::int64_t> dims;
  double s0 = 1, t0 = 0, s1 = 1, t1 = 0;
  Activation activation = Activation::none;
  double epsilon = 0;
  const OnnxTensor* weight = nullptr;  // of product, scaled
  int part = -1;                       // 0 q, 1 k, 2 v; -1: not parted
  double factor = 1;                   // of a part and of scores

  bool is_linear() const { return state == State::feature && activation == Activation::none; }
  bool is_image() const { return axes == "NCHW"; }
  bool ends_in_channels() const { return axes == "NTC" || axes == "NHWC"; }
};

class Translator {
 public:
  // `file` must outlive the translator.
  Translator(const OnnxFile& file, const Shape& sample);

  Status run();

  struct Weights {
    std::vector<std::vector<float>> parameters, statistics;
  };
  Graph take_graph(int output) { return net_.finish(output); }
  const std::vector<Weights>& weights() const { return weights_; }  // of each layer
  Result<int> output();                                             // the value with the logits

 private:
  friend struct Row;
  struct Row {
    const char* operation;
    Result<Tensor> (Translator::*translate)(const OnnxNode&);
  };
  static const std::vector<Row>& table();

  // Structure: onnx_translator.cpp.
  Result<Tensor> constant(const OnnxNode& node);
  Result<Tensor> same(const OnnxNode& node);
  Result<Tensor> shape(const OnnxNode& node);
  Result<Tensor> slice(const OnnxNode& node);
  Result<Tensor> expand(const OnnxNode& node);
  Result<Tensor> gather(const OnnxNode& node);
  Result<Tensor> concat(const OnnxNode& node);
  Result<Tensor> squeeze(const OnnxNode& node);
  Result<Tensor> unsqueeze(const OnnxNode& node);
  Result<Tensor> reshape(const OnnxNode& node);
  Result<Tensor> transpose(const OnnxNode& node);
  Result<Tensor> conv(const OnnxNode& node);
  Result<Tensor> batch_norm(const OnnxNode& node);
  Result<Tensor> pool(const OnnxNode& node);
  Result<Tensor> global_pool(const OnnxNode& node);
  // Numbers: onnx_arithmetic.cpp.
  Result<Tensor> binary(const OnnxNode& node);
  Result<Tensor> activate(const OnnxNode& node);
  Result<Tensor> clip(const OnnxNode& node);
  Result<Tensor> square_root(const OnnxNode& node);
  Result<Tensor> reduce_mean(const OnnxNode& node);
  Result<Tensor> layer_norm(const OnnxNode& node);
  Result<Tensor> mat_mul(const OnnxNode& node);
  Result<Tensor> softmax(const OnnxNode& node);
  Result<Tensor> lstm(const OnnxNode& node);  // onnx_lstm.cpp

  Result<Tensor> with_number(const OnnxNode& node, Tensor x, double number, bool number_first);
  Result<Tensor> with_vector(const OnnxNode& node, Tensor x, const OnnxTensor& vector);
  Result<Tensor> of_two(const OnnxNode& node, const Tensor& a, const Tensor& b);
  Result<Tensor> multiply(const OnnxNode& node, const Tensor& a, const Tensor& b);
  Result<Tensor> attend(const OnnxNode& node, const Tensor& weights, const Tensor& values);
  Result<Tensor> add_layer_norm(const OnnxNode& node, const Tensor& x, double epsilon,
                                const OnnxTensor& scale, const OnnxTensor& shift);

  Result<Tensor> input(const OnnxNode& node, std::size_t index);
  Result<const OnnxTensor*> floats(const OnnxNode& node, std::size_t index);
  Result<std::vector<std::int64_t>> integers(const OnnxNode& node, std::size_t index,
                                             const char* attribute);
  Tensor integer_constant(std::vector<std::int64_t> numbers);
  Tensor computed(OnnxTensor made);
  // The value of the engine that holds the tensor; adds what its meaning still lacks.
  Result<int> value_of(const OnnxNode& node, const Tensor& tensor);
  Result<int> add(const OnnxNode& node, const Operation& operation, std::vector<int> inputs,
                  Weights weights = {});
  Result<int> add_linear(const OnnxNode& node, const Tensor& product, const OnnxTensor* bias);
  Tensor feature(int value, const std::string& axes) const;

  const OnnxFile& file_;
  GraphBuilder net_;
  std::vector<Shape> shapes_;  // of each value, for the sample batch
  std::vector<Weights> weights_;
  std::map<std::string, Tensor> tensors_;
  std::list<OnnxTensor> computed_;  // constants that nodes made
  // Functions of a value that have become layers.
  std::map<std::tuple<int, double, double, Activation, double, double>, int> made_;
};

// "operator Conv (conv1): why".
Error refusal(const OnnxNode& node, const std::string& why);
std::int64_t integer_of(const OnnxNode& node, const char* attribute, std::int64_t otherwise);
double number_of(const OnnxNode& node, const char* attribute, double otherwise);
bool nearly(double a, double b);  // within 1e-6 of the larger, or of 1

}  // namespace ocrtune::onnx
