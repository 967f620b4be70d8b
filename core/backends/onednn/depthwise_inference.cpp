// One row of the result at a time: run_row() finds the rows of the image that it sees and hands
// them to the loop of this CPU's register width. Weights are packed once and kept.
#include <memory>
#include <vector>

#include "core/backends/onednn/depthwise_tiles.h"
#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/kept_copies.h"
#include "core/backends/onednn/register_width.h"

namespace ocrtune {
namespace {

std::size_t many(int count) { return static_cast<std::size_t>(count); }

void depthwise_line_plain(const DepthwiseLine& line) { depthwise_tiles<16>(line); }

using Run = void (*)(const DepthwiseLine&);

Run choose_run() {
#if defined(__x86_64__)
  if (register_bytes() == 64) return depthwise_line_avx512;
  if (register_bytes() == 32) return depthwise_line_avx2;
#endif
  return depthwise_line_plain;
}

// [block of channels][kernel row][kernel column][channel], by the channels of a block.
using Weights = std::vector<float>;
KeptCopies<int, const Weights>& kept_depthwise() {
  static KeptCopies<int, const Weights> all;
  return all;
}

class DepthwiseInference final : public Operator {
 public:
  DepthwiseInference(const Conv& conv, const OperatorRequest& request)
      : conv_(conv), in_(request.inputs[0]), out_{request.output, in_.layout}, run_(choose_run()) {
    needs_.output_layout = out_.layout;
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    // Weights that may change are packed for each call; fixed ones are shared by all shapes.
    if (!call.fixed_parameters || weights_ == nullptr || weights_for_ != call.parameters[0]) {
      const auto make = [&] { return pack(call.parameters[0]); };
      weights_ = call.fixed_parameters
                     ? kept_depthwise().find(call.parameters[0], in_.layout.block, make)
                     : make();
      weights_for_ = call.parameters[0];
    }
#pragma omp parallel for collapse(3) schedule(static)
    for (int n = 0; n < in_.shape.n; ++n) {
      for (int cb = 0; cb < in_.blocks(); ++cb) {
        for (int h = 0; h < out_.shape.h; ++h) run_row(call, n, cb, h);
      }
    }
    return Status();
  }
  Status backward(const OperatorCall&) override {
    return Error{ErrorKind::unsupported, "a convolution made for inference has no gradient"};
  }

 private:
  std::size_t row_start(const ImageDesc& desc, int n, int cb, int h) const {
    return ((many(n) * many(desc.blocks()) + many(cb)) * many(desc.shape.h) + many(h)) *
           many(desc.shape.w * desc.layout.block);
  }

  std::shared_ptr<const Weights> pack(const float* plain) const {
    const int block = in_.layout.block, taps = conv_.kernel.h * conv_.kernel.w;
    auto packed = std::make_shared<Weights>(many(in_.shape.c * taps));
    for (int c = 0; c < in_.shape.c; ++c) {
      float* to = packed->data() + many(c / block * taps * block + c % block);
      for (int tap = 0; tap < taps; ++tap) to[many(tap * block)] = plain[many(c * taps + tap)];
    }
    return packed;
  }

  void run_row(const OperatorCall& call, int n, int cb, int h) const {
    const int block = in_.layout.block;
    DepthwiseLine line;
    line.kernel = conv_.kernel.w;
    line.stride = conv_.stride.w;
    line.block = block;
    for (int k = 0; k < conv_.kernel.h; ++k) {
      const int from = h * conv_.stride.h - conv_.pad.h + k;
      // Rows of the padding are 0 and add nothing: they are left out.
      if (from < 0 || from >= in_.shape.h) continue;
      line.in[line.rows] = call.inputs[0] + row_start(in_, n, cb, from);
      line.weights[line.rows++] =
          weights_->data() + many((cb * conv_.kernel.h + k) * conv_.kernel.w * block);
    }
    line.in_columns = in_.shape.w;
    line.out_columns = out_.shape.w;
    line.pad = conv_.pad.w;
    if (conv_.bias) line.bias = call.parameters[1] + many(cb * block);
    line.activation = conv_.activation;
    if (conv_.affine) {
      line.scale = *call.parameters[conv_.bias ? 2 : 1];
      line.shift = *call.parameters[conv_.bias ? 3 : 2];
    }
    line.out = call.output + row_start(out_, n, cb, h);
    run_(line);
  }

  Conv conv_;
  ImageDesc in_, out_;
  Run run_;
  std::shared_ptr<const Weights> weights_;
  const float* weights_for_ = nullptr;
  OperatorNeeds needs_;
};

}  // namespace

bool is_depthwise_inference(const Conv& conv, const ImageDesc& in) {
  const int block = in.layout.block;
  const auto small = [](int stride) { return stride == 1 || stride == 2; };
  const bool follows = conv.activation == Activation::none || conv.activation == Activation::relu ||
                       conv.activation == Activation::hard_swish;
  return (block == 8 || block == 16) && in.shape.c % block == 0 && conv.groups == in.shape.c &&
         conv.out_channels == in.shape.c && conv.branches == 1 && follows &&
         conv.kernel.h == conv.kernel.w && (conv.kernel.w == 3 || conv.kernel.w == 5) &&
         small(conv.stride.w);
}

std::unique_ptr<Operator> make_depthwise_inference(const Conv& conv,
                                                   const OperatorRequest& request) {
  return std::make_unique<DepthwiseInference>(conv, request);
}

}  // namespace ocrtune
