// Blocks of the backbone norm after each sum; blocks of the neck norm what each part reads.
#include "core/models/svtr_model.h"

#include <string>

#include <fmt/core.h>

#include "core/models/mobile_model.h"

namespace ocrtune {
namespace {

// The second is of the norms behind the convolutions that shrink the grid.
constexpr double kNormEpsilon = 1e-6, kSampleNormEpsilon = 1e-5;

Conv make_conv(int out, Extent kernel, Extent stride, bool bias, int groups = 1) {
  Conv conv;
  conv.out_channels = out;
  conv.kernel = kernel;
  conv.stride = stride;
  conv.pad = {kernel.h / 2, kernel.w / 2};
  conv.bias = bias;
  conv.groups = groups;
  return conv;
}

int add_mlp(GraphBuilder& net, const std::string& name, int x, int hidden, Activation activation) {
  const int dim = net.channels(x);
  x = net.linear(name + ".fc1", x, Linear{hidden, true});
  x = net.activate(name + ".act", x, activation);
  return net.linear(name + ".fc2", x, Linear{dim, true});
}

int add_attention(GraphBuilder& net, const std::string& name, int x, int heads) {
  const int dim = net.channels(x);
  x = net.linear(name + ".qkv", x, Linear{3 * dim, true});
  x = net.attention(name + ".attention", x, Attention{heads});
  return net.linear(name + ".proj", x, Linear{dim, true});
}

// x = LN(x + mix(x)); x = LN(x + MLP(x))
int add_block(GraphBuilder& net, const std::string& name, int x, const SvtrStage& stage,
              bool local) {
  const int mixed =
      local ? net.conv(name + ".mixer", x, make_conv(stage.dim, {5, 5}, {1, 1}, true, stage.heads))
            : add_attention(net, name + ".mixer", x, stage.heads);
  x = net.sum(name + ".add1", {x, mixed});
  x = net.layer_norm(name + ".norm1", x, LayerNorm{kNormEpsilon});
  const int widened = add_mlp(net, name + ".mlp", x, 4 * stage.dim, Activation::gelu);
  x = net.sum(name + ".add2", {x, widened});
  return net.layer_norm(name + ".norm2", x, LayerNorm{kNormEpsilon});
}

// x = x + attention(LN(x)); x = x + MLP(LN(x))
int add_neck_block(GraphBuilder& net, const std::string& name, int x, int heads) {
  const int hidden = 2 * net.channels(x);
  int y = net.layer_norm(name + ".norm1", x, LayerNorm{1e-5});
  y = add_attention(net, name + ".mixer", y, heads);
  x = net.sum(name + ".add1", {x, y});
  y = net.layer_norm(name + ".norm2", x, LayerNorm{1e-5});
  y = add_mlp(net, name + ".mlp", y, hidden, Activation::swish);
  return net.sum(name + ".add2", {x, y});
}

}  // namespace

SvtrSizes svtrv2_sizes() {
  return {{{128, 4, 6, 0}, {256, 8, 2, 4}, {384, 12, 0, 6}}, 256, 256, 8};
}

SvtrSizes svtrv2_small_sizes() {
  return {{{64, 2, 3, 0}, {128, 4, 3, 3}, {256, 8, 0, 3}}, 120, 120, 8};
}

int add_svtr_neck(GraphBuilder& net, int x, int hidden, int out, int heads) {
  const int channels = net.channels(x), narrow = channels / 8;
  const int input = x;
  x = add_conv_norm(net, "neck.conv1", x, make_conv(narrow, {1, 3}, {1, 1}, false),
                    Activation::swish);
  x = add_conv_norm(net, "neck.conv2", x, make_conv(hidden, {1, 1}, {1, 1}, false),
                    Activation::swish);
  for (int i = 0; i < 2; ++i) x = add_neck_block(net, fmt::format("neck.block{}", i), x, heads);
  x = net.layer_norm("neck.norm", x, LayerNorm{1e-6});
  x = add_conv_norm(net, "neck.conv3", x, make_conv(channels, {1, 1}, {1, 1}, false),
                    Activation::swish);
  x = net.concat("neck.concat", {input, x});
  x = add_conv_norm(net, "neck.conv4", x, make_conv(narrow, {1, 3}, {1, 1}, false),
                    Activation::swish);
  return add_conv_norm(net, "neck.conv5", x, make_conv(out, {1, 1}, {1, 1}, false),
                       Activation::swish);
}

Graph build_svtr(const char* name, int classes, const SvtrSizes& sizes) {
  GraphBuilder net(name, 3);
  const int dim = sizes.stages.front().dim;
  int x = add_conv_norm(net, "pope1", net.image(), make_conv(dim / 2, {3, 3}, {2, 2}, true),
                        Activation::gelu);
  x = add_conv_norm(net, "pope2", x, make_conv(dim, {3, 3}, {2, 2}, true), Activation::gelu);
  for (std::size_t s = 0; s < sizes.stages.size(); ++s) {
    const SvtrStage& stage = sizes.stages[s];
    if (s > 0) {
      const std::string down = fmt::format("down{}", s - 1);
      x = net.conv(down + ".conv", x, make_conv(stage.dim, {3, 3}, {2, 1}, true));
      x = net.layer_norm(down + ".norm", x, LayerNorm{kSampleNormEpsilon});
    }
    for (int b = 0; b < stage.local_blocks + stage.global_blocks; ++b) {
      x = add_block(net, fmt::format("stage{}.block{}", s, b), x, stage, b < stage.local_blocks);
    }
  }
  x = net.average_pool("pool", x, AveragePool{{0, 2}});
  x = add_svtr_neck(net, x, sizes.neck_hidden, sizes.neck_out, sizes.neck_heads);
  x = net.linear("classes", x, Linear{classes, true});
  return net.finish(x);
}

}  // namespace ocrtune
