// The max-pool half of core/backends/onednn/norm_kernels.h.
#include "core/backends/onednn/norm_kernels.h"
#include "core/simd/lanes.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

constexpr std::int32_t kNoPlace = 255;  // ReLU lets nothing of this window through

struct PoolArguments {
  const float *x, *scale, *mean, *slope, *constant, *dy;
  const std::uint8_t* index;
  float *sum, *product, *dx;
};

template <int kBlock>
[[gnu::always_inline]] inline void apply(std::size_t pixels, const WindowShape& window, bool relu,
                                         const float* x, const float* scale, const float* offset,
                                         float* y, std::uint8_t* index) {
  using Floats = typename Lanes<kBlock>::Floats;
  using Ints = typename Lanes<kBlock>::Ints;
  const std::size_t pixel_floats = static_cast<std::size_t>(window.width) * kBlock;
  Floats a, b;
  load_lanes(a, scale);
  load_lanes(b, offset);
  for (std::size_t p = 0; p < pixels; ++p) {
    const float* row = x + p * pixel_floats;
    Floats from;
    load_lanes(from, row);
    Floats best = a * from + b;
    Ints place = {};
    std::int32_t here = 0;
    for (int i = 0; i < window.height; ++i, row += window.stride) {
      for (int j = 0; j < window.width; ++j, ++here) {
        load_lanes(from, row + static_cast<std::size_t>(j) * kBlock);
        const Floats z = a * from + b;
        const Ints larger = z > best;
        place = larger ? Ints{} + here : place;
        best = larger ? z : best;
      }
    }
    // A positive float is a positive whole number, too; comparisons with 0 as floats are taken
    // apart by GCC 12.
    Ints bits;
    load_lanes(bits, reinterpret_cast<const std::int32_t*>(&best));
    const Ints positive = bits > Ints{};
    // Without ReLU the maximum may be negative and still gets the gradient.
    if (relu) {
      place = positive ? place : Ints{} + kNoPlace;
      best = positive ? best : Floats{};
    }
    store_lanes(y + p * kBlock, best);
    store_bytes(index + p * kBlock, place);
  }
}

// What reaches a float of a window: dy if it is the maximum, else 0.
template <int kBlock>
[[gnu::always_inline]] inline void reach(typename Lanes<kBlock>::Floats& dz,
                                         const typename Lanes<kBlock>::Ints& places,
                                         std::int32_t here,
                                         const typename Lanes<kBlock>::Floats& dy) {
  using Ints = typename Lanes<kBlock>::Ints;
  const Ints places_here = Ints{} + here;
  const Ints largest = places == places_here;
  dz = largest ? dy : typename Lanes<kBlock>::Floats{};
}

template <int kBlock>
[[gnu::always_inline]] inline void slope_sums(std::size_t pixels, const WindowShape& window,
                                              const PoolArguments& args) {
  using Floats = typename Lanes<kBlock>::Floats;
  const std::size_t pixel_floats = static_cast<std::size_t>(window.width) * kBlock;
  Floats mean, sum, product;
  load_lanes(mean, args.mean);
  load_lanes(sum, args.sum);
  load_lanes(product, args.product);
  for (std::size_t p = 0; p < pixels; ++p) {
    typename Lanes<kBlock>::Ints places;
    load_bytes(places, args.index + p * kBlock);
    Floats dy, x, dz;
    load_lanes(dy, args.dy + p * kBlock);
    const float* row = args.x + p * pixel_floats;
    std::int32_t here = 0;
    for (int i = 0; i < window.height; ++i, row += window.stride) {
      for (int j = 0; j < window.width; ++j, ++here) {
        load_lanes(x, row + static_cast<std::size_t>(j) * kBlock);
        reach<kBlock>(dz, places, here, dy);
        sum += dz;
        product += dz * (x - mean);
      }
    }
  }
  store_lanes(args.sum, sum);
  store_lanes(args.product, product);
}

template <int kBlock>
[[gnu::always_inline]] inline void gradients(std::size_t pixels, const WindowShape& window,
                                             const PoolArguments& args) {
  using Floats = typename Lanes<kBlock>::Floats;
  const std::size_t pixel_floats = static_cast<std::size_t>(window.width) * kBlock;
  Floats a, slope, constant;
  load_lanes(a, args.scale);
  load_lanes(slope, args.slope);
  load_lanes(constant, args.constant);
  for (std::size_t p = 0; p < pixels; ++p) {
    typename Lanes<kBlock>::Ints places;
    load_bytes(places, args.index + p * kBlock);
    Floats dy, x, dz;
    load_lanes(dy, args.dy + p * kBlock);
    std::size_t start = p * pixel_floats;
    std::int32_t here = 0;
    for (int i = 0; i < window.height; ++i, start += window.stride) {
      for (int j = 0; j < window.width; ++j, ++here) {
        const std::size_t at = start + static_cast<std::size_t>(j) * kBlock;
        load_lanes(x, args.x + at);
        reach<kBlock>(dz, places, here, dy);
        const Floats dx = a * dz + slope * x + constant;
        store_lanes(args.dx + at, dx);
      }
    }
  }
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
    default:                                    \
      function<1>(__VA_ARGS__);                 \
      break;                                    \
  }

OCRTUNE_SIMD void pool_apply_row(const RowShape& row, const WindowShape& window, bool relu,
                                 const float* x, const float* scale, const float* offset, float* y,
                                 std::uint8_t* index) {
  OCRTUNE_FOR_BLOCK(row.block, apply, row.pixels, window, relu, x, scale, offset, y, index);
}

OCRTUNE_SIMD void pool_slope_row(const RowShape& row, const WindowShape& window, const float* x,
                                 const float* mean, const float* dy, const std::uint8_t* index,
                                 float* sum, float* product) {
  const PoolArguments args{x, nullptr, mean, nullptr, nullptr, dy, index, sum, product, nullptr};
  OCRTUNE_FOR_BLOCK(row.block, slope_sums, row.pixels, window, args);
}

OCRTUNE_SIMD void pool_gradient_row(const RowShape& row, const WindowShape& window, const float* x,
                                    const float* scale, const float* slope, const float* constant,
                                    const float* dy, const std::uint8_t* index, float* dx) {
  const PoolArguments args{x, scale, nullptr, slope, constant, dy, index, nullptr, nullptr, dx};
  OCRTUNE_FOR_BLOCK(row.block, gradients, row.pixels, window, args);
}

#undef OCRTUNE_FOR_BLOCK

}  // namespace ocrtune
