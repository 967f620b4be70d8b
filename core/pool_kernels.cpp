// The max-pool half of core/norm_kernels.h.
#include <algorithm>

#include "core/norm_kernels.h"
#include "core/simd.h"

namespace ocrtune {
namespace {

struct PoolArguments {
  const float *x, *scale, *offset, *mean, *slope, *constant, *dy;
  const std::uint8_t* index;
  float *sum, *product, *dx;
};

template <int kBlock>
[[gnu::always_inline]] inline void apply(std::size_t pixels, const WindowShape& window, bool relu,
                                         const float* x, const float* scale, const float* offset,
                                         float* y, std::uint8_t* index) {
  const auto width = static_cast<std::size_t>(window.width);
  const float floor = relu ? 0.0F : -3.4e38F;
  float a[kBlock], b[kBlock];
  std::copy_n(scale, kBlock, a);
  std::copy_n(offset, kBlock, b);
  for (std::size_t p = 0; p < pixels; ++p) {
    const float* corner = x + p * width * kBlock;
    float best[kBlock];
    std::int32_t place[kBlock];
    for (int l = 0; l < kBlock; ++l) {
      best[l] = a[l] * corner[l] + b[l];
      place[l] = 0;
    }
    for (int i = 0; i < window.height; ++i) {
      for (int j = 0; j < window.width; ++j) {
        const float* from = corner + static_cast<std::size_t>(i) * window.stride +
                            static_cast<std::size_t>(j) * kBlock;
        const int here = i * window.width + j;
        for (int l = 0; l < kBlock; ++l) {
          const float z = a[l] * from[l] + b[l];
          place[l] = z > best[l] ? here : place[l];
          best[l] = z > best[l] ? z : best[l];
        }
      }
    }
    for (int l = 0; l < kBlock; ++l) {
      y[p * kBlock + static_cast<std::size_t>(l)] = best[l] > floor ? best[l] : floor;
      index[p * kBlock + static_cast<std::size_t>(l)] = static_cast<std::uint8_t>(place[l]);
    }
  }
}

// dz of one float of a window: what reaches it if it is the maximum and, with ReLU, positive.
[[gnu::always_inline]] inline float reaching(bool relu, float z, std::int32_t place,
                                             std::int32_t here, float dy) {
  const float positive = relu && !(z > 0.0F) ? 0.0F : dy;
  return place == here ? positive : 0.0F;
}

template <int kBlock, bool kRelu>
[[gnu::always_inline]] inline void slope_sums(std::size_t pixels, const WindowShape& window,
                                              const PoolArguments& args) {
  const auto width = static_cast<std::size_t>(window.width);
  float a[kBlock], b[kBlock], mean[kBlock], sum[kBlock] = {}, product[kBlock] = {};
  std::copy_n(args.scale, kBlock, a);
  std::copy_n(args.offset, kBlock, b);
  std::copy_n(args.mean, kBlock, mean);
  for (std::size_t p = 0; p < pixels; ++p) {
    std::int32_t place[kBlock];
    for (int l = 0; l < kBlock; ++l)
      place[l] = args.index[p * kBlock + static_cast<std::size_t>(l)];
    const float* dy = args.dy + p * kBlock;
    for (int i = 0; i < window.height; ++i) {
      for (int j = 0; j < window.width; ++j) {
        const float* x = args.x + static_cast<std::size_t>(i) * window.stride +
                         (p * width + static_cast<std::size_t>(j)) * kBlock;
        const int here = i * window.width + j;
        for (int l = 0; l < kBlock; ++l) {
          const float dz = reaching(kRelu, a[l] * x[l] + b[l], place[l], here, dy[l]);
          sum[l] += dz;
          product[l] += dz * (x[l] - mean[l]);
        }
      }
    }
  }
  for (int l = 0; l < kBlock; ++l) {
    args.sum[l] += sum[l];
    args.product[l] += product[l];
  }
}

template <int kBlock, bool kRelu>
[[gnu::always_inline]] inline void gradients(std::size_t pixels, const WindowShape& window,
                                             const PoolArguments& args) {
  const auto width = static_cast<std::size_t>(window.width);
  float a[kBlock], b[kBlock], slope[kBlock], constant[kBlock];
  std::copy_n(args.scale, kBlock, a);
  std::copy_n(args.offset, kBlock, b);
  std::copy_n(args.slope, kBlock, slope);
  std::copy_n(args.constant, kBlock, constant);
  for (std::size_t p = 0; p < pixels; ++p) {
    std::int32_t place[kBlock];
    for (int l = 0; l < kBlock; ++l)
      place[l] = args.index[p * kBlock + static_cast<std::size_t>(l)];
    const float* dy = args.dy + p * kBlock;
    for (int i = 0; i < window.height; ++i) {
      for (int j = 0; j < window.width; ++j) {
        const std::size_t start = static_cast<std::size_t>(i) * window.stride +
                                  (p * width + static_cast<std::size_t>(j)) * kBlock;
        const float* __restrict x = args.x + start;
        float* __restrict dx = args.dx + start;
        const int here = i * window.width + j;
        for (int l = 0; l < kBlock; ++l) {
          const float dz = reaching(kRelu, a[l] * x[l] + b[l], place[l], here, dy[l]);
          dx[l] = a[l] * dz + slope[l] * x[l] + constant[l];
        }
      }
    }
  }
}

template <int kBlock>
[[gnu::always_inline]] inline void slope_any(std::size_t pixels, const WindowShape& window,
                                             bool relu, const PoolArguments& args) {
  relu ? slope_sums<kBlock, true>(pixels, window, args)
       : slope_sums<kBlock, false>(pixels, window, args);
}

template <int kBlock>
[[gnu::always_inline]] inline void gradient_any(std::size_t pixels, const WindowShape& window,
                                                bool relu, const PoolArguments& args) {
  relu ? gradients<kBlock, true>(pixels, window, args)
       : gradients<kBlock, false>(pixels, window, args);
}

}  // namespace

#define OCRTUNE_FOR_BLOCK(value, function, ...) \
  switch (value) {                              \
    case 16:                                    \
      function<16>(__VA_ARGS__);                \
      break;                                    \
    case 8:                                     \
      function<8>(__VA_ARGS__);                 \
      break;                                    \
    case 4:                                     \
      function<4>(__VA_ARGS__);                 \
      break;                                    \
    case 2:                                     \
      function<2>(__VA_ARGS__);                 \
      break;                                    \
    default:                                    \
      function<1>(__VA_ARGS__);                 \
      break;                                    \
  }

OCRTUNE_SIMD void pool_apply_row(const RowShape& row, const WindowShape& window, bool relu,
                                 const float* x, const float* scale, const float* offset, float* y,
                                 std::uint8_t* index) {
  OCRTUNE_FOR_BLOCK(row.block, apply, row.pixels, window, relu, x, scale, offset, y, index);
}

OCRTUNE_SIMD void pool_slope_row(const RowShape& row, const WindowShape& window, bool relu,
                                 const float* x, const float* scale, const float* offset,
                                 const float* mean, const float* dy, const std::uint8_t* index,
                                 float* sum, float* product) {
  const PoolArguments args{x,  scale, offset, mean,    nullptr, nullptr,
                           dy, index, sum,    product, nullptr};
  OCRTUNE_FOR_BLOCK(row.block, slope_any, row.pixels, window, relu, args);
}

OCRTUNE_SIMD void pool_gradient_row(const RowShape& row, const WindowShape& window, bool relu,
                                    const float* x, const float* scale, const float* offset,
                                    const float* slope, const float* constant, const float* dy,
                                    const std::uint8_t* index, float* dx) {
  const PoolArguments args{x,  scale, offset,  nullptr, slope, constant,
                           dy, index, nullptr, nullptr, dx};
  OCRTUNE_FOR_BLOCK(row.block, gradient_any, row.pixels, window, relu, args);
}

#undef OCRTUNE_FOR_BLOCK

}  // namespace ocrtune
