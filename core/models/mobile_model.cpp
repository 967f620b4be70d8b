// Rows of sizes, then the blocks that are made of them. square_conv(), add_conv_norm() and
// add_squeeze_excite() are shared with the other models.
#include "core/models/mobile_model.h"

#include <string>

#include <fmt/core.h>

namespace ocrtune {
namespace {

int add_unit(GraphBuilder& net, const std::string& name, int input, const InvertedResidual& unit) {
  int x = add_conv_norm(net, name + ".expand", input, square_conv(unit.expanded, 1, {1, 1}),
                        unit.activation);
  const Conv depthwise = square_conv(unit.expanded, unit.kernel, unit.stride, unit.expanded);
  x = add_conv_norm(net, name + ".depthwise", x, depthwise, unit.activation);
  if (unit.squeeze) x = add_squeeze_excite(net, name + ".se", x);
  x = add_conv_norm(net, name + ".linear", x, square_conv(unit.out, 1, {1, 1}), Activation::none);
  const bool shortcut = unit.stride == Extent{1, 1} && net.channels(input) == unit.out;
  return shortcut ? net.sum(name + ".add", {input, x}) : x;
}

}  // namespace

Conv square_conv(int out, int kernel, Extent stride, int groups) {
  Conv conv;
  conv.out_channels = out;
  conv.kernel = {kernel, kernel};
  conv.stride = stride;
  conv.pad = {kernel / 2, kernel / 2};
  conv.groups = groups;
  return conv;
}

int add_conv_norm(GraphBuilder& net, const std::string& name, int x, const Conv& conv,
                  Activation activation) {
  x = net.conv(name + ".conv", x, conv);
  BatchNorm norm;
  norm.activation = activation;
  return net.batch_norm(name + ".norm", x, norm);
}

int add_squeeze_excite(GraphBuilder& net, const std::string& name, int x) {
  const int channels = net.channels(x);
  int factors = net.average_pool(name + ".mean", x, AveragePool{{0, 0}});
  factors = net.linear(name + ".fc1", factors, Linear{channels / 4, true});
  factors = net.activate(name + ".relu", factors, Activation::relu);
  factors = net.linear(name + ".fc2", factors, Linear{channels, true});
  factors = net.activate(name + ".gate", factors, Activation::hard_sigmoid);
  return net.scale(name + ".scale", x, factors);
}

Mv3Sizes crnn_mv3_sizes() {
  constexpr Activation kRelu = Activation::relu, kSwish = Activation::hard_swish;
  Mv3Sizes sizes;
  // MobileNetV3-large's channels times 0.5, rounded to multiples of 8.
  sizes.units = {
      {3, 8, 8, false, kRelu, {1, 1}},     {3, 32, 16, false, kRelu, {2, 1}},
      {3, 40, 16, false, kRelu, {1, 1}},   {5, 40, 24, true, kRelu, {2, 1}},
      {5, 64, 24, true, kRelu, {1, 1}},    {5, 64, 24, true, kRelu, {1, 1}},
      {3, 120, 40, false, kSwish, {1, 1}}, {3, 104, 40, false, kSwish, {1, 1}},
      {3, 96, 40, false, kSwish, {1, 1}},  {3, 96, 40, false, kSwish, {1, 1}},
      {3, 240, 56, true, kSwish, {1, 1}},  {3, 336, 56, true, kSwish, {1, 1}},
      {5, 336, 80, true, kSwish, {2, 1}},  {5, 480, 80, true, kSwish, {1, 1}},
      {5, 480, 80, true, kSwish, {1, 1}},
  };
  return sizes;
}

Graph build_crnn_mv3(const char* name, int classes, const Mv3Sizes& sizes) {
  GraphBuilder net(name, 3);
  int x = add_conv_norm(net, "stem", net.image(), square_conv(sizes.stem, 3, {2, 2}),
                        Activation::hard_swish);
  for (std::size_t i = 0; i < sizes.units.size(); ++i) {
    x = add_unit(net, fmt::format("unit{}", i), x, sizes.units[i]);
  }
  x = add_conv_norm(net, "last", x, square_conv(sizes.last, 1, {1, 1}), Activation::hard_swish);
  x = net.max_pool("pool", x, MaxPool{{2, 2}});
  x = net.bi_lstm("lstm1", x, BiLstm{sizes.hidden});
  x = net.bi_lstm("lstm2", x, BiLstm{sizes.hidden});
  x = net.linear("classes", x, Linear{classes, true});
  return net.finish(x);
}

}  // namespace ocrtune
