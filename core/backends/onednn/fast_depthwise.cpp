// A result pixel is a sum over taps (a weight and a pixel). Inner columns see all taps and are done
// in long runs; columns at the edges go one by one with the taps that they have.
#include <omp.h>

#include <algorithm>
#include <vector>

#include "core/backends/onednn/depthwise_kernels.h"
#include "core/backends/onednn/fast_operators.h"

namespace ocrtune {
namespace {

std::size_t size(int count) { return static_cast<std::size_t>(count); }

int divide_up(int a, int b) { return (a + b - 1) / b; }  // b > 0, a >= 0

// Columns of one result row: those in [first, last) see every tap.
struct Inner {
  int first = 0, last = 0;
};

class FastDepthwise final : public Operator {
 public:
  FastDepthwise(const Conv& conv, const OperatorRequest& request)
      : conv_(conv),
        in_(request.inputs[0]),
        out_{request.output, in_.layout},
        kernel_(conv.kernel.h),
        team_(omp_get_max_threads()) {
    const std::size_t weights = size(conv.branches * in_.padded_channels() * kernel_ * kernel_);
    weight_bytes_ = align_up(weights * sizeof(float));
    needs_.output_layout = out_.layout;
    needs_.forward_scratch_bytes = weight_bytes_;
    needs_.backward_scratch_bytes = weight_bytes_ * size(1 + team_);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    const float* weights = pack_weights(call);
#pragma omp parallel
    {
      std::vector<DepthwiseTap> taps;
#pragma omp for collapse(2) schedule(static)
      for (int n = 0; n < in_.shape.n; ++n) {
        for (int cb = 0; cb < in_.blocks(); ++cb) {
          for (int b = 0; b < conv_.branches; ++b) {
            for (int oh = 0; oh < out_.shape.h; ++oh) {
              forward_row(call, weights, n, cb, b, oh, taps);
            }
            if (conv_.bias) add_bias(call, n, cb, b);
          }
        }
      }
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] != nullptr) backward_input(call);
    backward_weights(call);
    if (conv_.bias) backward_bias(call);
    return Status();
  }

 private:
  int lanes() const { return in_.layout.block; }
  std::ptrdiff_t floats(int columns) const { return std::ptrdiff_t{columns} * lanes(); }
  std::size_t row_start(const ImageDesc& desc, int n, int cb, int h) const {
    return ((size(n) * size(desc.blocks()) + size(cb)) * size(desc.shape.h) + size(h)) *
           size(desc.shape.w) * size(lanes());
  }
  int out_block(int b, int cb) const { return b * in_.blocks() + cb; }
  std::size_t weight_start(int b, int cb, int kh, int kw) const {
    return size((out_block(b, cb) * kernel_ + kh) * kernel_ + kw) * size(lanes());
  }

  // [branch][block][kh][kw][lane] in scratch; padding lanes are 0.
  const float* pack_weights(const OperatorCall& call) const {
    auto* packed = reinterpret_cast<float*>(call.scratch);
    const int taps = kernel_ * kernel_;
#pragma omp parallel for schedule(static)
    for (int block = 0; block < conv_.branches * in_.blocks(); ++block) {
      float* to = packed + size(block * taps) * size(lanes());
      std::fill_n(to, size(taps * lanes()), 0.0F);
      for (int lane = 0; lane < lanes(); ++lane) {
        const int c = block % in_.blocks() * lanes() + lane;
        if (c >= in_.shape.c) break;
        const int channel = block / in_.blocks() * in_.shape.c + c;
        for (int k = 0; k < taps; ++k) {
          to[k * lanes() + lane] = call.parameters[0][channel * taps + k];
        }
      }
    }
    return packed;
  }

  // Of the channel block: its first channel of the result, and how many it has.
  int first_channel(int b, int cb) const { return b * in_.shape.c + cb * lanes(); }
  int channels(int cb) const { return std::min(lanes(), in_.shape.c - cb * lanes()); }

  void add_bias(const OperatorCall& call, int n, int cb, int b) const {
    const float* bias = call.parameters[1] + first_channel(b, cb);
    float* y = call.output + row_start(out_, n, out_block(b, cb), 0);
    for (int pixel = 0; pixel < out_.shape.h * out_.shape.w; ++pixel, y += lanes()) {
      for (int lane = 0; lane < channels(cb); ++lane) y[lane] += bias[lane];
    }
  }

  void backward_bias(const OperatorCall& call) const {
#pragma omp parallel for collapse(2) schedule(static)
    for (int b = 0; b < conv_.branches; ++b) {
      for (int cb = 0; cb < in_.blocks(); ++cb) {
        double sums[16] = {};
        for (int n = 0; n < in_.shape.n; ++n) {
          const float* dy = call.output_gradient + row_start(out_, n, out_block(b, cb), 0);
          for (int pixel = 0; pixel < out_.shape.h * out_.shape.w; ++pixel, dy += lanes()) {
            for (int lane = 0; lane < channels(cb); ++lane) sums[lane] += dy[lane];
          }
        }
        for (int lane = 0; lane < channels(cb); ++lane) {
          call.parameter_gradients[1][first_channel(b, cb) + lane] = static_cast<float>(sums[lane]);
        }
      }
    }
  }

  // Output columns whose whole kernel lies in the image.
  Inner inner_columns() const {
    const int first = divide_up(conv_.pad.w, conv_.stride.w);
    const int room = in_.shape.w - kernel_ + conv_.pad.w;
    const int last = room < 0 ? 0 : std::min(out_.shape.w, room / conv_.stride.w + 1);
    return {first, std::max(first, last)};
  }

  void forward_row(const OperatorCall& call, const float* weights, int n, int cb, int b, int oh,
                   std::vector<DepthwiseTap>& taps) const {
    float* y = call.output + row_start(out_, n, out_block(b, cb), oh);
    const Inner inner = inner_columns();
    const auto run = [&](int first, int pixels) {
      taps.clear();
      for (int kh = 0; kh < kernel_; ++kh) {
        const int ih = oh * conv_.stride.h - conv_.pad.h + kh;
        if (ih < 0 || ih >= in_.shape.h) continue;
        const float* x = call.inputs[0] + row_start(in_, n, cb, ih);
        for (int kw = 0; kw < kernel_; ++kw) {
          const int iw = first * conv_.stride.w - conv_.pad.w + kw;
          if (iw < 0 || iw + (pixels - 1) * conv_.stride.w >= in_.shape.w) continue;
          taps.push_back({x + floats(iw), weights + weight_start(b, cb, kh, kw)});
        }
      }
      depthwise_row({lanes(), pixels, conv_.stride.w, 1}, taps.data(),
                    static_cast<int>(taps.size()), y + floats(first));
    };
    over_columns(out_.shape.w, inner, run);
  }

  // run(first, pixels) over the columns before, in and after `inner`: one by one outside of it.
  template <typename Run>
  static void over_columns(int columns, const Inner& inner, const Run& run) {
    const int first = std::clamp(inner.first, 0, columns);
    const int last = std::clamp(inner.last, first, columns);
    for (int w = 0; w < first; ++w) run(w, 1);
    if (last > first) run(first, last - first);
    for (int w = last; w < columns; ++w) run(w, 1);
  }

  void backward_input(const OperatorCall& call) const {
    const float* weights = pack_weights(call);
#pragma omp parallel
    {
      std::vector<DepthwiseTap> taps;
#pragma omp for collapse(2) schedule(static)
      for (int n = 0; n < in_.shape.n; ++n) {
        for (int cb = 0; cb < in_.blocks(); ++cb) {
          for (int ih = 0; ih < in_.shape.h; ++ih) {
            // With a stride, neighbours in dx see different taps; columns of one residue see the
            // same.
            for (int residue = 0; residue < conv_.stride.w; ++residue) {
              backward_row(call, weights, n, cb, ih, residue, taps);
            }
          }
        }
      }
    }
  }

  // The columns residue, residue + stride, ... of one row of dx: column j of them sees column
  // j + (residue + pad - kw) / stride of dy, where that is a whole number.
  void backward_row(const OperatorCall& call, const float* weights, int n, int cb, int ih,
                    int residue, std::vector<DepthwiseTap>& taps) const {
    const int stride = conv_.stride.w;
    float* dx = call.input_gradients[0] + row_start(in_, n, cb, ih) + floats(residue);
    Inner inner{0, out_.shape.w};
    for (int kw = 0; kw < kernel_; ++kw) {
      const int distance = residue + conv_.pad.w - kw;
      if (distance % stride != 0) continue;
      inner.first = std::max(inner.first, -distance / stride);
      inner.last = std::min(inner.last, out_.shape.w - distance / stride);
    }
    const auto run = [&](int first, int pixels) {
      taps.clear();
      for (int b = 0; b < conv_.branches; ++b) {
        add_backward_taps(call, weights, {n, cb, b, ih}, residue, first, pixels, taps);
      }
      depthwise_row({lanes(), pixels, 1, stride}, taps.data(), static_cast<int>(taps.size()),
                    dx + floats(first * stride));
    };
    over_columns(divide_up(in_.shape.w - residue, stride), inner, run);
  }

  struct RowPlace {
    int n, cb, b, h;
  };

  void add_backward_taps(const OperatorCall& call, const float* weights, const RowPlace& at,
                         int residue, int first, int pixels,
                         std::vector<DepthwiseTap>& taps) const {
    for (int kh = 0; kh < kernel_; ++kh) {
      const int rows = at.h + conv_.pad.h - kh;
      if (rows < 0 || rows % conv_.stride.h != 0 || rows / conv_.stride.h >= out_.shape.h) continue;
      const float* dy = call.output_gradient +
                        row_start(out_, at.n, out_block(at.b, at.cb), rows / conv_.stride.h);
      for (int kw = 0; kw < kernel_; ++kw) {
        const int distance = residue + conv_.pad.w - kw;
        if (distance % conv_.stride.w != 0) continue;
        const int ow = first + distance / conv_.stride.w;
        if (ow < 0 || ow + pixels > out_.shape.w) continue;
        taps.push_back({dy + floats(ow), weights + weight_start(at.b, at.cb, kh, kw)});
      }
    }
  }

  // Each thread adds to its own sums, in the order of the packed weights.
  void backward_weights(const OperatorCall& call) const {
    auto* all = reinterpret_cast<float*>(call.scratch + weight_bytes_);
    const std::size_t weights = weight_bytes_ / sizeof(float);
    std::fill_n(all, weights * size(team_), 0.0F);
#pragma omp parallel
    {
      float* sums = all + weights * size(omp_get_thread_num());
#pragma omp for collapse(2) schedule(static)
      for (int n = 0; n < in_.shape.n; ++n) {
        for (int cb = 0; cb < in_.blocks(); ++cb) {
          for (int b = 0; b < conv_.branches; ++b) add_weight_sums(call, {n, cb, b, 0}, sums);
        }
      }
    }
    unpack_gradients(call, all, weights);
  }

  void add_weight_sums(const OperatorCall& call, const RowPlace& at, float* sums) const {
    const Inner inner = inner_columns();
    for (int kh = 0; kh < kernel_; ++kh) {
      std::vector<float> local(size(kernel_ * lanes()), 0.0F);
      for (int oh = 0; oh < out_.shape.h; ++oh) {
        const int ih = oh * conv_.stride.h - conv_.pad.h + kh;
        if (ih < 0 || ih >= in_.shape.h) continue;
        const float* x = call.inputs[0] + row_start(in_, at.n, at.cb, ih);
        const float* dy = call.output_gradient + row_start(out_, at.n, out_block(at.b, at.cb), oh);
        over_columns(out_.shape.w, inner, [&](int first, int pixels) {
          const int iw = first * conv_.stride.w - conv_.pad.w;
          if (iw >= 0 && iw + (pixels - 1) * conv_.stride.w + kernel_ <= in_.shape.w) {
            depthwise_weight_row({lanes(), pixels, conv_.stride.w, 1}, kernel_, x + floats(iw),
                                 dy + floats(first), local.data());
          } else {
            add_edge(x, dy + floats(first), iw, local.data());
          }
        });
      }
      float* to = sums + weight_start(at.b, at.cb, kh, 0);
      for (std::size_t i = 0; i < local.size(); ++i) to[i] += local[i];
    }
  }

  void add_edge(const float* x, const float* dy, int iw, float* sums) const {
    for (int kw = 0; kw < kernel_; ++kw) {
      if (iw + kw < 0 || iw + kw >= in_.shape.w) continue;
      for (int l = 0; l < lanes(); ++l) {
        sums[kw * lanes() + l] += dy[l] * x[(iw + kw) * lanes() + l];
      }
    }
  }

  void unpack_gradients(const OperatorCall& call, const float* all, std::size_t weights) const {
    const int taps = kernel_ * kernel_;
    for (int channel = 0; channel < out_.shape.c; ++channel) {
      const int b = channel / in_.shape.c, c = channel % in_.shape.c;
      for (int k = 0; k < taps; ++k) {
        const std::size_t from =
            size((out_block(b, c / lanes()) * taps + k) * lanes() + c % lanes());
        float sum = 0;
        for (int thread = 0; thread < team_; ++thread) sum += all[size(thread) * weights + from];
        call.parameter_gradients[0][channel * taps + k] = sum;
      }
    }
  }

  Conv conv_;
  ImageDesc in_, out_;
  int kernel_, team_;
  std::size_t weight_bytes_ = 0;
  OperatorNeeds needs_;
};

}  // namespace

bool is_fast_depthwise(const Conv& conv, const Shape& in, bool training) {
  const auto small = [](int stride) { return stride == 1 || stride == 2; };
  return in.c > 1 && conv.groups == in.c && conv.out_channels == conv.branches * in.c &&
         conv.kernel.h == conv.kernel.w && conv.kernel.h <= 5 && conv.kernel.h % 2 == 1 &&
         small(conv.stride.h) && small(conv.stride.w) && (!conv.bias || training) &&
         conv.activation == Activation::none && !conv.affine &&
         (conv.branches == 1 || in.c % 8 == 0);
}

Layout depthwise_layout(const Conv& conv, const ImageDesc& offered, const Layout& preferred) {
  const auto fits = [&](int block) {
    return (block == 8 || block == 16) && (conv.branches == 1 || offered.shape.c % block == 0);
  };
  if (fits(offered.layout.block)) return offered.layout;
  return fits(preferred.block) ? preferred : Layout{8};
}

std::unique_ptr<Operator> make_fast_depthwise(const Conv& conv, const OperatorRequest& request) {
  return std::make_unique<FastDepthwise>(conv, request);
}

}  // namespace ocrtune
