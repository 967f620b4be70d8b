// Windows do not overlap (stride = kernel). What a floor cuts off at the right and below has no
// window and gets a gradient of 0.
#include <algorithm>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/reference/reference_attention.h"
#include "core/simd/lanes.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

OCRTUNE_SIMD void add_lanes(const float* __restrict from, std::size_t block, float* __restrict to) {
  for (std::size_t l = 0; l < block; ++l) to[l] += from[l];
}

OCRTUNE_SIMD void scale_lanes(const float* __restrict from, float factor, std::size_t block,
                              float* __restrict to) {
  for (std::size_t l = 0; l < block; ++l) to[l] = from[l] * factor;
}

OCRTUNE_SIMD void raise_lanes(const float* __restrict from, std::size_t block,
                              float* __restrict to) {
  for (std::size_t l = 0; l < block; ++l) to[l] = from[l] > to[l] ? from[l] : to[l];
}

// The mean of a window of one block of channels, in several sums that need not wait for each other.
template <int kLanes>
[[gnu::always_inline]] inline void mean_lanes(const float* from, const Extent& window,
                                              std::ptrdiff_t row, float share, float* to) {
  using Floats = typename Lanes<kLanes>::Floats;
  constexpr int kSums = 4;
  Floats sums[kSums] = {}, x;
  for (int h = 0; h < window.h; ++h, from += row) {
    int w = 0;
    for (; w + kSums <= window.w; w += kSums) {
#pragma GCC unroll 4
      for (int i = 0; i < kSums; ++i) {
        load_lanes(x, from + std::ptrdiff_t{w + i} * kLanes);
        sums[i] += x;
      }
    }
    for (; w < window.w; ++w) {
      load_lanes(x, from + std::ptrdiff_t{w} * kLanes);
      sums[0] += x;
    }
  }
  const Floats mean = ((sums[0] + sums[1]) + (sums[2] + sums[3])) * share;
  store_lanes(to, mean);
}

OCRTUNE_SIMD void mean_of_window(const float* from, std::size_t block, const Extent& window,
                                 std::ptrdiff_t row, float share, float* to) {
  block == 16 ? mean_lanes<16>(from, window, row, share, to)
              : mean_lanes<8>(from, window, row, share, to);
}

// What is left of `rest` goes to the pixels that equal the maximum, the first alone.
OCRTUNE_SIMD void give_to_largest(const float* __restrict x, const float* __restrict most,
                                  std::size_t block, float* __restrict rest, float* __restrict dx) {
  for (std::size_t l = 0; l < block; ++l) {
    const bool largest = x[l] == most[l];
    dx[l] = largest ? rest[l] : 0.0F;
    rest[l] = largest ? 0.0F : rest[l];
  }
}

// The windows of a blocked image: each thread takes rows of output pixels.
class Windows {
 public:
  Windows(const Extent& kernel, const ImageDesc& in)
      : in_(in),
        kernel_(reference::resolve_kernel(kernel, in.shape)),
        out_{{in.shape.n, in.shape.c, in.shape.h / kernel_.h, in.shape.w / kernel_.w}, in.layout} {}

  // Calls visit(first float of the window, first float of the output pixel).
  template <typename Visit>
  void over_outputs(const Visit& visit) const {
    const int groups = in_.shape.n * in_.blocks();
#pragma omp parallel for collapse(2) schedule(static)
    for (int g = 0; g < groups; ++g) {
      for (int h = 0; h < out_.shape.h; ++h) {
        for (int w = 0; w < out_.shape.w; ++w) {
          visit(pixel(in_, g, h * kernel_.h, w * kernel_.w), pixel(out_, g, h, w));
        }
      }
    }
  }
  // Calls visit(first float of the pixel) for the pixels of a window.
  template <typename Visit>
  void over_window(std::size_t corner, const Visit& visit) const {
    for (int h = 0; h < kernel_.h; ++h) {
      for (int w = 0; w < kernel_.w; ++w) {
        visit(corner + static_cast<std::size_t>(h * in_.shape.w + w) * block());
      }
    }
  }
  bool covers_all() const {
    return out_.shape.h * kernel_.h == in_.shape.h && out_.shape.w * kernel_.w == in_.shape.w;
  }
  std::size_t block() const { return static_cast<std::size_t>(in_.layout.block); }
  std::size_t input_floats() const { return in_.floats(); }
  Layout layout() const { return in_.layout; }
  const Extent& kernel() const { return kernel_; }
  std::ptrdiff_t row_floats() const { return std::ptrdiff_t{in_.shape.w} * in_.layout.block; }
  float share() const { return 1.0F / static_cast<float>(kernel_.h * kernel_.w); }

 private:
  std::size_t pixel(const ImageDesc& desc, int group, int h, int w) const {
    const auto row = static_cast<std::size_t>(group) * static_cast<std::size_t>(desc.shape.h) +
                     static_cast<std::size_t>(h);
    return (row * static_cast<std::size_t>(desc.shape.w) + static_cast<std::size_t>(w)) * block();
  }
  ImageDesc in_;
  Extent kernel_;
  ImageDesc out_;
};

class FastAveragePool final : public Operator {
 public:
  FastAveragePool(const AveragePool& pool, const ImageDesc& in) : windows_(pool.kernel, in) {
    needs_.output_layout = windows_.layout();
    needs_.backward_reads_inputs = false;
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    const std::size_t block = windows_.block();
    windows_.over_outputs([&](std::size_t corner, std::size_t to) {
      float* out = call.output + to;
      if (block == 8 || block == 16) {
        mean_of_window(call.inputs[0] + corner, block, windows_.kernel(), windows_.row_floats(),
                       windows_.share(), out);
        return;
      }
      std::fill_n(out, block, 0.0F);
      windows_.over_window(corner,
                           [&](std::size_t from) { add_lanes(call.inputs[0] + from, block, out); });
      for (std::size_t l = 0; l < block; ++l) out[l] *= windows_.share();
    });
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    float* dx = call.input_gradients[0];
    if (dx == nullptr) return Status();
    if (!windows_.covers_all()) std::fill_n(dx, windows_.input_floats(), 0.0F);
    windows_.over_outputs([&](std::size_t corner, std::size_t from) {
      windows_.over_window(corner, [&](std::size_t to) {
        scale_lanes(call.output_gradient + from, windows_.share(), windows_.block(), dx + to);
      });
    });
    return Status();
  }

 private:
  Windows windows_;
  OperatorNeeds needs_;
};

class FastMaxPool final : public Operator {
 public:
  FastMaxPool(const MaxPool& pool, const ImageDesc& in) : windows_(pool.kernel, in) {
    needs_.output_layout = windows_.layout();
    needs_.backward_reads_output = true;
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    const std::size_t block = windows_.block();
    windows_.over_outputs([&](std::size_t corner, std::size_t to) {
      std::copy_n(call.inputs[0] + corner, block, call.output + to);
      windows_.over_window(corner, [&](std::size_t from) {
        raise_lanes(call.inputs[0] + from, block, call.output + to);
      });
    });
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    float* dx = call.input_gradients[0];
    if (dx == nullptr) return Status();
    const std::size_t block = windows_.block();
    if (!windows_.covers_all()) std::fill_n(dx, windows_.input_floats(), 0.0F);
    windows_.over_outputs([&](std::size_t corner, std::size_t at) {
      // The gradient goes to the first pixel that equals the maximum, as in the reference.
      std::vector<float> rest(call.output_gradient + at, call.output_gradient + at + block);
      windows_.over_window(corner, [&](std::size_t to) {
        give_to_largest(call.inputs[0] + to, call.output + at, block, rest.data(), dx + to);
      });
    });
    return Status();
  }

 private:
  Windows windows_;
  OperatorNeeds needs_;
};

}  // namespace

std::unique_ptr<Operator> make_fast_average_pool(const AveragePool& pool, const ImageDesc& in) {
  return std::make_unique<FastAveragePool>(pool, in);
}

std::unique_ptr<Operator> make_fast_max_pool(const MaxPool& pool, const ImageDesc& in) {
  return std::make_unique<FastMaxPool>(pool, in);
}

}  // namespace ocrtune
