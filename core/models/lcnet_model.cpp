// A stem, the blocks of two rep layers each, then the neck of svtr_model.h and the classes.
#include "core/models/lcnet_model.h"

#include <string>

#include <fmt/core.h>

#include "core/models/mobile_model.h"
#include "core/models/svtr_model.h"

namespace ocrtune {
namespace {

struct RepSizes {
  int out = 0, kernel = 1;
  Extent stride{1, 1};
  bool depthwise = false;
  int branches = 4;
  Activation activation = Activation::hard_swish;
};

// The sum of k x k branches, a 1 x 1 branch where k > 1, and the input itself where the shape
// stays; then scalars and the activation.
int add_rep_layer(GraphBuilder& net, const std::string& name, int x, const RepSizes& sizes) {
  const int groups = sizes.depthwise ? sizes.out : 1;
  Conv conv = square_conv(sizes.branches * sizes.out, sizes.kernel, sizes.stride);
  conv.groups = groups;
  conv.branches = sizes.branches;
  std::vector<int> summands = {net.conv(name + ".branches", x, conv)};
  if (sizes.kernel > 1) {
    Conv point = square_conv(sizes.out, 1, sizes.stride);
    point.groups = groups;
    summands.push_back(net.conv(name + ".point", x, point));
  }
  if (net.channels(x) == sizes.out && sizes.stride == Extent{1, 1}) summands.push_back(x);
  const int sum = net.norm_sum(name + ".sum", std::move(summands), sizes.out);
  return net.affine(name + ".act", sum, sizes.activation);
}

}  // namespace

LcnetSizes ppocr_mobile_sizes() {
  LcnetSizes sizes;
  sizes.blocks = {
      {3, 32, {1, 1}, false},  {3, 64, {1, 1}, false},  {3, 64, {1, 1}, false},
      {3, 128, {2, 1}, false}, {3, 128, {1, 1}, false}, {3, 240, {1, 2}, false},
      {5, 240, {1, 1}, false}, {5, 240, {1, 1}, false}, {5, 240, {1, 1}, false},
      {5, 240, {1, 1}, false}, {5, 480, {2, 1}, true},  {5, 480, {1, 1}, true},
      {5, 480, {2, 1}, false}, {5, 480, {1, 1}, false},
  };
  return sizes;
}

Graph build_lcnet(const char* name, int classes, const LcnetSizes& sizes) {
  GraphBuilder net(name, 3);
  int x = net.conv("stem.conv", net.image(), square_conv(sizes.stem, 3, {2, 2}));
  x = net.batch_norm("stem.norm", x, BatchNorm{});
  for (std::size_t i = 0; i < sizes.blocks.size(); ++i) {
    const LcnetBlock& block = sizes.blocks[i];
    const std::string prefix = fmt::format("block{}", i);
    x = add_rep_layer(
        net, prefix + ".dw", x,
        {net.channels(x), block.kernel, block.stride, true, sizes.branches, sizes.activation});
    if (block.squeeze) x = add_squeeze_excite(net, prefix + ".se", x);
    x = add_rep_layer(net, prefix + ".pw", x,
                      {block.out, 1, {1, 1}, false, sizes.branches, sizes.activation});
  }
  x = net.average_pool("pool", x, AveragePool{{0, 2}});
  x = add_svtr_neck(net, x, sizes.neck, sizes.neck, sizes.heads);
  x = net.linear("classes", x, Linear{classes, true});
  return net.finish(x);
}

}  // namespace ocrtune
