// A network as a list of layers: what is computed, with which parameters, in which order.
//
// Values are numbered; value 0 is the image batch, every layer makes one value. The list says
// nothing about memory or backends: core/graph/plan.h places it, core/graph/backend.h runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/graph/tensor.h"

namespace ocrtune {

enum class Activation { none, relu, hard_swish, hard_sigmoid, gelu, swish };

struct Extent {
  int h = 1, w = 1;
  friend bool operator==(const Extent&, const Extent&) = default;
};

// weight [out, in / groups, kh, kw], then bias [out] if `bias`. With `branches`, so many
// convolutions of the same input: their outputs and weights stand one after another, `out_channels`
// counts all.
struct Conv {
  int out_channels = 0;
  Extent kernel{3, 3}, stride{1, 1}, pad{1, 1};
  int groups = 1, branches = 1;
  bool bias = false;
  // After the bias, in inference graphs only: an activation, and behind it scale [1] and shift [1],
  // which stand as parameters behind the bias.
  Activation activation = Activation::none;
  bool affine = false;
};

// scale [C], shift [C]; statistics: running mean [C], running variance [C]. Then the activation,
// then a max-pool with kernel = stride = `pool` (h 0: the whole height), floor.
struct BatchNorm {
  Activation activation = Activation::none;
  Extent pool{1, 1};  // other than 1 x 1 only with relu or none
  double epsilon = 1e-5;
};

// The sum of the batch norms of several values. An input with k times the channels of the result
// holds k branches one after another. For each input scale and shift; statistics as BatchNorm.
// Source: Ding et al. 2021 (RepVGG), section 3.
struct NormSum {
  int channels = 0;  // of the result
  double epsilon = 1e-5;
};

// y = s1 act(s0 x + t0) + t1 with four trained numbers s0, t0, s1, t1 [1].
// Source: the learnable affine blocks of PaddleOCR's PPLCNetV3.
struct Affine {
  Activation activation = Activation::none;
};

// Two directions over W of an image of height 1; gates i, f, g, o as in PyTorch.
// w_ih [2, 4h, C], w_hh [2, 4h, h], b_ih [2, 4h], b_hh [2, 4h]; gives 2h channels.
struct BiLstm {
  int hidden = 0;
};

// y = W x + b at every pixel; weight [out, in], then bias [out] if `bias`.
struct Linear {
  int out_channels = 0;
  bool bias = true;
};

// Element-wise sum of two or more values of one shape.
struct Sum {};

// Over the channels of each pixel; scale [C], shift [C]. Source: Ba, Kiros, Hinton 2016.
struct LayerNorm {
  double epsilon = 1e-6;
};

// Multi-head self-attention over all pixels. Takes [N, 3C, H, W] with the channels q, k, v, each
// in `heads` equal parts; gives C channels. Source: Vaswani et al. 2017.
struct Attention {
  int heads = 1;
};

struct Activate {
  Activation activation = Activation::none;
};

// Channels of two or more values, one after another.
struct Concat {};

// Mean over windows with stride = kernel; 0 is the whole height or width.
struct AveragePool {
  Extent kernel{0, 0};
};

// Maximum over windows with stride = kernel.
struct MaxPool {
  Extent kernel{2, 2};
};

// Multiplies value 0 by value 1 [N, C, 1, 1].
struct Scale {};

using Operation = std::variant<Conv, BatchNorm, BiLstm, Linear, Sum, LayerNorm, Attention, Activate,
                               Concat, AveragePool, MaxPool, Scale, NormSum, Affine>;

struct Layer {
  std::string name;
  Operation operation;
  std::vector<int> inputs;      // values
  int output = 0;               // value
  std::vector<int> parameters;  // indexes into Graph::parameters, in the order of the operation
  std::vector<int> statistics;  // indexes into Graph::statistics
};

struct Parameter {
  std::string name;          // "conv1.weight"
  std::vector<int> extent;   // the shape, row-major
  std::size_t count = 0;     // product of extent
  std::size_t offset = 0;    // floats from the start of the flat buffer
  double low = 0, high = 0;  // initial values are uniform in [low, high)
  bool decays = true;        // weight decay; not for biases and norms
};

struct Graph {
  std::string name;
  std::vector<Layer> layers;
  std::vector<Parameter> parameters;
  std::vector<Parameter> statistics;  // of batch norms; not trained
  std::size_t parameter_floats = 0;   // of the flat buffer; starts are aligned, so >= the count
  std::size_t statistic_floats = 0;
  int value_count = 1;
  int output = 0;  // the value that holds the logits [N, classes, 1, T]

  std::size_t parameter_count() const;
};

// Adds layers one after another; each call gives the new value. `in_channels` of a value are known
// because the image's are.
class GraphBuilder {
 public:
  GraphBuilder(std::string name, int image_channels);

  int image() const { return 0; }
  int channels(int value) const { return channels_[static_cast<std::size_t>(value)]; }
  int conv(const std::string& name, int input, const Conv& conv);
  int batch_norm(const std::string& name, int input, const BatchNorm& norm);
  int norm_sum(const std::string& name, std::vector<int> inputs, int channels);
  int affine(const std::string& name, int input, Activation activation);
  int bi_lstm(const std::string& name, int input, const BiLstm& lstm);
  int linear(const std::string& name, int input, const Linear& linear);
  int sum(const std::string& name, std::vector<int> inputs);
  int layer_norm(const std::string& name, int input, const LayerNorm& norm);
  int attention(const std::string& name, int input, const Attention& attention);
  int activate(const std::string& name, int input, Activation activation);
  int concat(const std::string& name, std::vector<int> inputs);
  int average_pool(const std::string& name, int input, const AveragePool& pool);
  int max_pool(const std::string& name, int input, const MaxPool& pool);
  int scale(const std::string& name, int input, int factors);
  // A layer of the same name and operation as `like`; the operation must fit the inputs.
  int add(const Layer& like, const std::vector<int>& inputs);
  Graph finish(int output);

 private:
  int add_layer(Layer layer, int out_channels);
  int add_parameter(const std::string& name, std::vector<int> extent, double low, double high,
                    bool decays);
  int add_statistic(const std::string& name, int count, double value);

  Graph graph_;
  std::vector<int> channels_;  // of each value
};

// The shape of what a layer makes of its inputs; usage: nothing is left of them.
Result<Shape> output_shape(const Layer& layer, std::span<const Shape> inputs);
// Of every value, for one shape of image 0.
Result<std::vector<Shape>> infer_shapes(const Graph& graph, const Shape& image);

// A hash of layers, parameters and their shapes: a checkpoint of one graph fits no other.
std::uint64_t graph_hash(const Graph& graph);

// Seeded initial values, the same on every machine: parameter i is drawn from
// Random(mix_bits(seed) + i).
void fill_initial_parameters(const Graph& graph, std::uint64_t seed, float* parameters);
void fill_initial_statistics(const Graph& graph, float* statistics);

}  // namespace ocrtune
