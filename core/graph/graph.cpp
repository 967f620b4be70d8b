// The builder numbers values and lays parameters into one flat buffer; each starts at a cache line.
// Shapes, the hash and initial values follow from the finished list.
#include "core/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/random.h"

namespace ocrtune {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

constexpr std::size_t kParameterAlignment = kMemoryAlignment / sizeof(float);

std::size_t product(const std::vector<int>& extent) {
  std::size_t count = 1;
  for (const int side : extent) count *= static_cast<std::size_t>(side);
  return count;
}

// Uniform with the variance 2 / fan_in of He et al. 2015.
double he_bound(int fan_in) { return std::sqrt(6.0 / fan_in); }

Shape conv_shape(const Conv& conv, const Shape& in) {
  const auto side = [](int size, int kernel, int stride, int pad) {
    return (size + 2 * pad - kernel) / stride + 1;
  };
  return {in.n, conv.out_channels, side(in.h, conv.kernel.h, conv.stride.h, conv.pad.h),
          side(in.w, conv.kernel.w, conv.stride.w, conv.pad.w)};
}

Shape pool_shape(const Extent& kernel, const Shape& in) {
  return {in.n, in.c, in.h / (kernel.h == 0 ? in.h : kernel.h),
          in.w / (kernel.w == 0 ? in.w : kernel.w)};
}

Shape norm_sum_shape(int channels, std::span<const Shape> inputs) {
  Shape out = inputs[0];
  out.c = channels;
  for (const Shape& in : inputs) {
    if (in.n != out.n || in.h != out.h || in.w != out.w || in.c % channels != 0) return {};
  }
  return out;
}

// The constant is 2^64 divided by the golden ratio, as in SplitMix64.
std::uint64_t hash_number(std::uint64_t hash, std::uint64_t number) {
  return mix_bits(hash ^ (number + 0x9E3779B97F4A7C15ULL));
}

std::uint64_t hash_text(std::uint64_t hash, const std::string& text) {
  for (const char c : text) hash = hash_number(hash, static_cast<unsigned char>(c));
  return hash_number(hash, text.size());
}

}  // namespace

std::size_t Graph::parameter_count() const {
  std::size_t count = 0;
  for (const Parameter& parameter : parameters) count += parameter.count;
  return count;
}

GraphBuilder::GraphBuilder(std::string name, int image_channels) : channels_{image_channels} {
  graph_.name = std::move(name);
}

int GraphBuilder::add_layer(Layer layer, int out_channels) {
  layer.output = graph_.value_count++;
  channels_.push_back(out_channels);
  graph_.layers.push_back(std::move(layer));
  return graph_.layers.back().output;
}

int GraphBuilder::add_parameter(const std::string& name, std::vector<int> extent, double low,
                                double high, bool decays) {
  Parameter parameter{name, std::move(extent), 0, graph_.parameter_floats, low, high, decays};
  parameter.count = product(parameter.extent);
  graph_.parameter_floats += align_up(parameter.count, kParameterAlignment);
  graph_.parameters.push_back(std::move(parameter));
  return static_cast<int>(graph_.parameters.size()) - 1;
}

int GraphBuilder::add_statistic(const std::string& name, int count, double value) {
  Parameter statistic{
      name, {count}, static_cast<std::size_t>(count), graph_.statistic_floats, value, value, false};
  graph_.statistic_floats += align_up(statistic.count, kParameterAlignment);
  graph_.statistics.push_back(std::move(statistic));
  return static_cast<int>(graph_.statistics.size()) - 1;
}

int GraphBuilder::conv(const std::string& name, int input, const Conv& conv) {
  const int in = channels(input);
  OCRTUNE_CHECK(in % conv.groups == 0 && conv.out_channels % (conv.groups * conv.branches) == 0);
  const int fan_in = in / conv.groups * conv.kernel.h * conv.kernel.w;
  const double bound = he_bound(fan_in);
  Layer layer{name, conv, {input}, 0, {}, {}};
  layer.parameters.push_back(add_parameter(
      name + ".weight", {conv.out_channels, in / conv.groups, conv.kernel.h, conv.kernel.w}, -bound,
      bound, true));
  if (conv.bias) {
    const double bias = 1 / std::sqrt(fan_in);
    layer.parameters.push_back(
        add_parameter(name + ".bias", {conv.out_channels}, -bias, bias, false));
  }
  if (conv.affine) {
    layer.parameters.push_back(add_parameter(name + ".scale1", {1}, 1, 1, false));
    layer.parameters.push_back(add_parameter(name + ".shift1", {1}, 0, 0, false));
  }
  return add_layer(std::move(layer), conv.out_channels);
}

int GraphBuilder::batch_norm(const std::string& name, int input, const BatchNorm& norm) {
  const int c = channels(input);
  OCRTUNE_CHECK(norm.pool == (Extent{1, 1}) || norm.activation == Activation::none ||
                norm.activation == Activation::relu);
  Layer layer{name, norm, {input}, 0, {}, {}};
  layer.parameters = {add_parameter(name + ".weight", {c}, 1, 1, false),
                      add_parameter(name + ".bias", {c}, 0, 0, false)};
  layer.statistics = {add_statistic(name + ".running_mean", c, 0),
                      add_statistic(name + ".running_var", c, 1)};
  return add_layer(std::move(layer), c);
}

int GraphBuilder::norm_sum(const std::string& name, std::vector<int> inputs, int channels) {
  Layer layer{name, NormSum{channels}, std::move(inputs), 0, {}, {}};
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const int c = channels_[static_cast<std::size_t>(layer.inputs[i])];
    OCRTUNE_CHECK(c % channels == 0);
    const std::string norm = fmt::format("{}.norm{}", name, i);
    layer.parameters.push_back(add_parameter(norm + ".weight", {c}, 1, 1, false));
    layer.parameters.push_back(add_parameter(norm + ".bias", {c}, 0, 0, false));
    layer.statistics.push_back(add_statistic(norm + ".running_mean", c, 0));
    layer.statistics.push_back(add_statistic(norm + ".running_var", c, 1));
  }
  return add_layer(std::move(layer), channels);
}

int GraphBuilder::affine(const std::string& name, int input, Activation activation) {
  Layer layer{name, Affine{activation}, {input}, 0, {}, {}};
  layer.parameters = {add_parameter(name + ".scale0", {1}, 1, 1, false),
                      add_parameter(name + ".shift0", {1}, 0, 0, false),
                      add_parameter(name + ".scale1", {1}, 1, 1, false),
                      add_parameter(name + ".shift1", {1}, 0, 0, false)};
  return add_layer(std::move(layer), channels(input));
}

int GraphBuilder::bi_lstm(const std::string& name, int input, const BiLstm& lstm) {
  const int h = lstm.hidden;
  const double bound = 1 / std::sqrt(h);
  Layer layer{name, lstm, {input}, 0, {}, {}};
  layer.parameters = {
      add_parameter(name + ".weight_ih", {2, 4 * h, channels(input)}, -bound, bound, true),
      add_parameter(name + ".weight_hh", {2, 4 * h, h}, -bound, bound, true),
      add_parameter(name + ".bias_ih", {2, 4 * h}, -bound, bound, false),
      add_parameter(name + ".bias_hh", {2, 4 * h}, -bound, bound, false)};
  return add_layer(std::move(layer), 2 * h);
}

int GraphBuilder::linear(const std::string& name, int input, const Linear& linear) {
  const int in = channels(input);
  const double bound = 1 / std::sqrt(in);
  Layer layer{name, linear, {input}, 0, {}, {}};
  layer.parameters.push_back(
      add_parameter(name + ".weight", {linear.out_channels, in}, -bound, bound, true));
  if (linear.bias) {
    layer.parameters.push_back(
        add_parameter(name + ".bias", {linear.out_channels}, -bound, bound, false));
  }
  return add_layer(std::move(layer), linear.out_channels);
}

int GraphBuilder::sum(const std::string& name, std::vector<int> inputs) {
  const int c = channels(inputs.front());
  return add_layer(Layer{name, Sum{}, std::move(inputs), 0, {}, {}}, c);
}

int GraphBuilder::layer_norm(const std::string& name, int input, const LayerNorm& norm) {
  const int c = channels(input);
  Layer layer{name, norm, {input}, 0, {}, {}};
  layer.parameters = {add_parameter(name + ".weight", {c}, 1, 1, false),
                      add_parameter(name + ".bias", {c}, 0, 0, false)};
  return add_layer(std::move(layer), c);
}

int GraphBuilder::attention(const std::string& name, int input, const Attention& attention) {
  const int c = channels(input) / 3;
  OCRTUNE_CHECK(channels(input) % 3 == 0 && c % attention.heads == 0);
  return add_layer(Layer{name, attention, {input}, 0, {}, {}}, c);
}

int GraphBuilder::activate(const std::string& name, int input, Activation activation) {
  return add_layer(Layer{name, Activate{activation}, {input}, 0, {}, {}}, channels(input));
}

int GraphBuilder::concat(const std::string& name, std::vector<int> inputs) {
  int c = 0;
  for (const int input : inputs) c += channels(input);
  return add_layer(Layer{name, Concat{}, std::move(inputs), 0, {}, {}}, c);
}

int GraphBuilder::average_pool(const std::string& name, int input, const AveragePool& pool) {
  return add_layer(Layer{name, pool, {input}, 0, {}, {}}, channels(input));
}

int GraphBuilder::max_pool(const std::string& name, int input, const MaxPool& pool) {
  return add_layer(Layer{name, pool, {input}, 0, {}, {}}, channels(input));
}

int GraphBuilder::scale(const std::string& name, int input, int factors) {
  OCRTUNE_CHECK(channels(input) == channels(factors));
  return add_layer(Layer{name, Scale{}, {input, factors}, 0, {}, {}}, channels(input));
}

namespace {

// Adds a layer like `layer` with other inputs.
struct LayerCopy {
  GraphBuilder& net;
  const Layer& layer;
  const std::vector<int>& inputs;

  int operator()(const Conv& conv) const { return net.conv(layer.name, inputs[0], conv); }
  int operator()(const BatchNorm& norm) const {
    return net.batch_norm(layer.name, inputs[0], norm);
  }
  int operator()(const BiLstm& lstm) const { return net.bi_lstm(layer.name, inputs[0], lstm); }
  int operator()(const Linear& linear) const { return net.linear(layer.name, inputs[0], linear); }
  int operator()(const Sum&) const { return net.sum(layer.name, inputs); }
  int operator()(const LayerNorm& norm) const {
    return net.layer_norm(layer.name, inputs[0], norm);
  }
  int operator()(const Attention& attention) const {
    return net.attention(layer.name, inputs[0], attention);
  }
  int operator()(const Activate& activate) const {
    return net.activate(layer.name, inputs[0], activate.activation);
  }
  int operator()(const Concat&) const { return net.concat(layer.name, inputs); }
  int operator()(const AveragePool& pool) const {
    return net.average_pool(layer.name, inputs[0], pool);
  }
  int operator()(const MaxPool& pool) const { return net.max_pool(layer.name, inputs[0], pool); }
  int operator()(const Scale&) const { return net.scale(layer.name, inputs[0], inputs[1]); }
  int operator()(const NormSum& norm) const {
    return net.norm_sum(layer.name, inputs, norm.channels);
  }
  int operator()(const Affine& affine) const {
    return net.affine(layer.name, inputs[0], affine.activation);
  }
};

}  // namespace

int GraphBuilder::add(const Layer& like, const std::vector<int>& inputs) {
  return std::visit(LayerCopy{*this, like, inputs}, like.operation);
}

Graph GraphBuilder::finish(int output) {
  graph_.output = output;
  return std::move(graph_);
}

Result<Shape> output_shape(const Layer& layer, std::span<const Shape> inputs) {
  const Shape& in = inputs[0];
  // A side of 0 says that the layer cannot take these inputs.
  const Shape out = std::visit(
      Overloaded{
          [&](const Conv& conv) { return conv_shape(conv, in); },
          [&](const BatchNorm& norm) { return pool_shape(norm.pool, in); },
          [&](const BiLstm& lstm) {
            return Shape{in.n, 2 * lstm.hidden, in.h == 1 ? 1 : 0, in.w};
          },
          [&](const Linear& linear) {
            return Shape{in.n, linear.out_channels, in.h, in.w};
          },
          [&](const LayerNorm&) { return in; },
          [&](const Activate&) { return in; },
          [&](const Scale&) { return in; },
          [&](const Affine&) { return in; },
          [&](const NormSum& norm) { return norm_sum_shape(norm.channels, inputs); },
          [&](const Attention&) {
            return Shape{in.n, in.c / 3, in.h, in.w};
          },
          [&](const AveragePool& pool) { return pool_shape(pool.kernel, in); },
          [&](const MaxPool& pool) { return pool_shape(pool.kernel, in); },
          [&](const Concat&) {
            Shape joined = in;
            for (const Shape& other : inputs.subspan(1)) joined.c += other.c;
            return joined;
          },
          [&](const Sum&) {
            const bool same = std::all_of(inputs.begin(), inputs.end(),
                                          [&](const Shape& other) { return other == in; });
            return same ? in : Shape{};
          },
      },
      layer.operation);
  if (out.n < 1 || out.c < 1 || out.h < 1 || out.w < 1) {
    return Error{ErrorKind::usage,
                 fmt::format("layer {} cannot take images of {} x {} (height x width)", layer.name,
                             in.h, in.w)};
  }
  return out;
}

Result<std::vector<Shape>> infer_shapes(const Graph& graph, const Shape& image) {
  std::vector<Shape> shapes(static_cast<std::size_t>(graph.value_count));
  shapes[0] = image;
  for (const Layer& layer : graph.layers) {
    std::vector<Shape> inputs;
    for (const int value : layer.inputs) inputs.push_back(shapes[static_cast<std::size_t>(value)]);
    const Result<Shape> shape = output_shape(layer, inputs);
    if (!shape) {
      return Error{ErrorKind::usage,
                   fmt::format("model {}: images of {} x {} (height x width) are too small: {}",
                               graph.name, image.h, image.w, shape.error().what)};
    }
    shapes[static_cast<std::size_t>(layer.output)] = *shape;
  }
  return shapes;
}

std::uint64_t graph_hash(const Graph& graph) {
  std::uint64_t hash = hash_text(1, graph.name);
  for (const Layer& layer : graph.layers) {
    hash = hash_text(hash, layer.name);
    // Numbers of an operation without a parameter (stride, activation, epsilon) are not hashed.
    hash = hash_number(hash, layer.operation.index());
    for (const int input : layer.inputs)
      hash = hash_number(hash, static_cast<std::uint64_t>(input));
  }
  for (const auto* list : {&graph.parameters, &graph.statistics}) {
    for (const Parameter& parameter : *list) {
      hash = hash_text(hash, parameter.name);
      for (const int side : parameter.extent) {
        hash = hash_number(hash, static_cast<std::uint64_t>(side));
      }
    }
  }
  return hash;
}

void fill_initial_parameters(const Graph& graph, std::uint64_t seed, float* parameters) {
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const Parameter& parameter = graph.parameters[i];
    // A generator for each parameter: a layer that is appended changes no values before it.
    Random random(mix_bits(mix_bits(seed) + i));
    for (std::size_t j = 0; j < parameter.count; ++j) {
      parameters[parameter.offset + j] =
          static_cast<float>(random.uniform(parameter.low, parameter.high));
    }
  }
}

void fill_initial_statistics(const Graph& graph, float* statistics) {
  for (const Parameter& statistic : graph.statistics) {
    std::fill_n(statistics + statistic.offset, statistic.count, static_cast<float>(statistic.low));
  }
}

}  // namespace ocrtune
