// The networks of PaddleOCR that are made of depthwise convolutions.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace ocrtune {

// One inverted residual unit: 1x1 to `expanded`, depthwise, [squeeze and excite], 1x1 to `out`.
struct InvertedResidual {
  int kernel = 3, expanded = 0, out = 0;
  bool squeeze = false;
  Activation activation = Activation::relu;
  Extent stride{1, 1};
};

struct Mv3Sizes {
  int stem = 8;
  std::vector<InvertedResidual> units;
  int last = 480;   // of the 1x1 convolution before the max-pool
  int hidden = 96;  // of both LSTM layers
};

// MobileNetV3-large x 0.5 with PaddleOCR's strides, two BiLSTMs, a linear layer to the classes.
// Source: Howard et al. 2019; PaddleOCR rec_mv3_none_bilstm_ctc. Its squeeze layers are 1x1
// convolutions, here linear layers of one pixel; the slope of their hard sigmoid is 1/6.
Mv3Sizes crnn_mv3_sizes();
Graph build_crnn_mv3(const char* name, int classes, const Mv3Sizes& sizes);

// A square kernel, padded so that a stride of 1 keeps the extent.
Conv square_conv(int out, int kernel, Extent stride, int groups = 1);
// activation(batch_norm(conv(x))): layers <name>.conv and <name>.norm.
int add_conv_norm(GraphBuilder& net, const std::string& name, int x, const Conv& conv,
                  Activation activation);
// x * hard_sigmoid(W2 relu(W1 mean(x))), narrowed by 4 in between. Source: Hu et al. 2018.
int add_squeeze_excite(GraphBuilder& net, const std::string& name, int x);

}  // namespace ocrtune
