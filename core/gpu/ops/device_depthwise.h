// Depthwise convolutions of the GPU core on kernels of its own, several branches at a time: each
// output channel reads one input channel, so that there is nothing for a matrix product.
// Weights [branches C, kh, kw], outputs [N, branches C, H, W] (core/graph/graph.h).
#pragma once

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

struct DepthwiseSizes {
  int count, channels, branches;
  int in_h, in_w, out_h, out_w;
  Extent kernel, stride, pad;
  OCRTUNE_BOTH std::size_t in_plane() const { return many(in_h) * many(in_w); }
  OCRTUNE_BOTH std::size_t out_plane() const { return many(out_h) * many(out_w); }
  OCRTUNE_BOTH std::size_t taps() const { return many(kernel.h) * many(kernel.w); }
  OCRTUNE_BOTH std::size_t out_channels() const { return many(channels) * many(branches); }
};

template <typename Value>
struct DepthwiseRow {  // a row is an output channel of a sample
  DepthwiseSizes plan;
  const Value* x;
  const float *w, *bias;  // bias may be null
  Activation kind;
  Value* y;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t k = row % plan.out_channels(), n = row / plan.out_channels();
    const Value* from = x + (n * many(plan.channels) + k % many(plan.channels)) * plan.in_plane();
    const float* taps = w + k * plan.taps();
    const float start = bias == nullptr ? 0.0F : bias[k];
    const int pixels = plan.out_h * plan.out_w;
    for (int p = lane.index(); p < pixels; p += lane.count()) {
      const int top = p / plan.out_w * plan.stride.h - plan.pad.h;
      const int left = p % plan.out_w * plan.stride.w - plan.pad.w;
      float sum = start;
      for (int h = 0; h < plan.kernel.h; ++h) {
        if (top + h < 0 || top + h >= plan.in_h) continue;
        for (int v = 0; v < plan.kernel.w; ++v) {
          if (left + v < 0 || left + v >= plan.in_w) continue;
          sum += taps[h * plan.kernel.w + v] * from[(top + h) * plan.in_w + left + v];
        }
      }
      y[row * plan.out_plane() + many(p)] = activated(kind, sum);
    }
  }
};

template <typename Value>
struct DepthwiseBackInputRow {  // a row is an input channel of a sample
  DepthwiseSizes plan;
  const float* w;
  const Value* dy;
  Value* dx;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t c = row % many(plan.channels), n = row / many(plan.channels);
    const int pixels = plan.in_h * plan.in_w;
    for (int p = lane.index(); p < pixels; p += lane.count()) {
      const int bottom = p / plan.in_w + plan.pad.h, right = p % plan.in_w + plan.pad.w;
      float sum = 0;
      for (int h = 0; h < plan.kernel.h; ++h) {
        const int row_of = (bottom - h) / plan.stride.h;
        if (bottom < h || (bottom - h) % plan.stride.h != 0 || row_of >= plan.out_h) continue;
        for (int v = 0; v < plan.kernel.w; ++v) {
          const int column = (right - v) / plan.stride.w;
          if (right < v || (right - v) % plan.stride.w != 0 || column >= plan.out_w) continue;
          for (int b = 0; b < plan.branches; ++b) {
            const std::size_t k = many(b) * many(plan.channels) + c;
            sum += w[k * plan.taps() + many(h * plan.kernel.w + v)] *
                   dy[(n * plan.out_channels() + k) * plan.out_plane() +
                      many(row_of * plan.out_w + column)];
          }
        }
      }
      dx[row * plan.in_plane() + many(p)] = sum;
    }
  }
};

// The sums over one chunk of samples, one row of taps of an output channel at a time: kWidth is the
// kernel's. partial [chunks, branches C kh, kWidth].
template <int kWidth, typename Value>
struct DepthwiseBackWeightRow {
  DepthwiseSizes plan;
  SumSizes sums;
  const Value *x, *dy;
  double* partial;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t h = row % many(plan.kernel.h);
    const std::size_t k = row / many(plan.kernel.h) % plan.out_channels();
    const std::size_t chunk = row / many(plan.kernel.h) / plan.out_channels();
    const int pixels = plan.out_h * plan.out_w;
    double total[kWidth] = {};
    for (std::size_t n = sums.first(chunk); n < sums.first(chunk + 1); ++n) {
      const Value* from = x + (n * many(plan.channels) + k % many(plan.channels)) * plan.in_plane();
      const Value* slopes = dy + (n * plan.out_channels() + k) * plan.out_plane();
      float own[kWidth] = {};  // of a sample, so that few numbers of one size are added in float
      for (int p = lane.index(); p < pixels; p += lane.count()) {
        const int line = p / plan.out_w * plan.stride.h - plan.pad.h + static_cast<int>(h);
        if (line < 0 || line >= plan.in_h) continue;
        const int left = p % plan.out_w * plan.stride.w - plan.pad.w;
        for (int v = 0; v < kWidth; ++v) {
          if (left + v < 0 || left + v >= plan.in_w) continue;
          own[v] += slopes[p] * from[line * plan.in_w + left + v];
        }
      }
      for (int v = 0; v < kWidth; ++v) total[v] += static_cast<double>(own[v]);
    }
    for (int v = 0; v < kWidth; ++v) {
      const double sum = lane.sum(total[v]);
      if (lane.index() == 0) partial[row * many(kWidth) + many(v)] = sum;
    }
  }
};

template <int kWidth>
struct StoreTaps {
  float* dw;
  OCRTUNE_BOTH void operator()(std::size_t row, const double* sums) const {
    for (int v = 0; v < kWidth; ++v) dw[row * many(kWidth) + many(v)] = static_cast<float>(sums[v]);
  }
};

// Whether the convolution is one of these; widths of 1, 3, 5 and 7.
inline bool is_device_depthwise(const Conv& conv, const Shape& in) {
  return in.c > 1 && conv.groups == in.c && conv.out_channels == conv.branches * in.c &&
         conv.kernel.w % 2 == 1 && conv.kernel.w <= 7;
}

template <typename Executor, typename Value>
class DeviceDepthwise final : public DeviceOperator<Executor, Value> {
 public:
  DeviceDepthwise(Executor& executor, const Conv& conv, const Shape& in, const Shape& out)
      : DeviceOperator<Executor, Value>(executor),
        conv_(conv),
        out_(out),
        plan_{in.n,  in.c,  conv.branches, in.h,        in.w,
              out.h, out.w, conv.kernel,   conv.stride, conv.pad} {
    this->needs_.backward_scratch_bytes =
        std::max(sums().bytes(conv.kernel.w), bias_sums().bytes(PlainTerm<Value>::kSums));
  }
  Status forward(const OperatorCall& call) override {
    return this->executor_.rows(many(plan_.count) * plan_.out_channels(),
                                DepthwiseRow<Value>{plan_, this->x(call), call.parameters[0],
                                                    conv_.bias ? call.parameters[1] : nullptr,
                                                    conv_.activation, this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    if (this->dx(call) != nullptr) {
      OCRTUNE_TRY(this->executor_.rows(
          many(plan_.count) * many(plan_.channels),
          DepthwiseBackInputRow<Value>{plan_, call.parameters[0], this->dy(call), this->dx(call)}));
    }
    OCRTUNE_TRY(backward_weight(call));
    if (!conv_.bias) return Status();
    return sum_channels(this->executor_, bias_sums(), PlainTerm<Value>{this->dy(call)},
                        StoreSum{call.parameter_gradients[1]}, call.scratch);
  }

 private:
  // A "channel" is a row of taps of an output channel.
  SumSizes sums() const {
    return sum_sizes(plan_.count, conv_.out_channels * conv_.kernel.h, plan_.out_plane());
  }
  SumSizes bias_sums() const { return sum_sizes(plan_.count, out_.c, plan_.out_plane()); }

  Status backward_weight(const OperatorCall& call) {
    switch (conv_.kernel.w) {
      case 1:
        return backward_weight<1>(call);
      case 3:
        return backward_weight<3>(call);
      case 5:
        return backward_weight<5>(call);
      default:
        return backward_weight<7>(call);
    }
  }
  template <int kWidth>
  Status backward_weight(const OperatorCall& call) {
    auto* partial = reinterpret_cast<double*>(call.scratch);
    const SumSizes plan = sums();
    OCRTUNE_TRY(this->executor_.rows(
        plan.rows(), DepthwiseBackWeightRow<kWidth, Value>{plan_, plan, this->x(call),
                                                           this->dy(call), partial}));
    return this->executor_.rows(
        many(plan.channels),
        FinishSumsRow<kWidth, StoreTaps<kWidth>>{plan, partial, {call.parameter_gradients[0]}});
  }

  Conv conv_;
  Shape out_;
  DepthwiseSizes plan_;
};

}  // namespace ocrtune::device
