// The loops for training. Strides of 1 and 2 and the kernel sizes are template arguments, so that
// the compiler unrolls the taps; OCRTUNE_SIMD makes a clone for each register width.
#include "core/backends/onednn/depthwise_kernels.h"

#include <cstddef>

#include "core/simd/lanes.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

constexpr int kTile = 6;  // pixels whose sums stay in registers: enough to hide the latency

template <int kLanes, int kInStep, int kPixels>
[[gnu::always_inline]] inline void sum_taps(const DepthwiseTap* taps, int tap_count, int first,
                                            float* out, int out_step) {
  using Floats = typename Lanes<kLanes>::Floats;
  Floats sums[kPixels] = {};
  constexpr std::ptrdiff_t kStep = std::ptrdiff_t{kInStep} * kLanes;
  const std::ptrdiff_t start = first * kStep;
  for (int k = 0; k < tap_count; ++k) {
    Floats weight;
    load_lanes(weight, taps[k].weight);
    const float* in = taps[k].in + start;
#pragma GCC unroll 8
    for (int t = 0; t < kPixels; ++t) {
      Floats x;
      load_lanes(x, in + t * kStep);
      sums[t] += weight * x;
    }
  }
  for (int t = 0; t < kPixels; ++t) {
    store_lanes(out + std::ptrdiff_t{first + t} * out_step * kLanes, sums[t]);
  }
}

template <int kLanes, int kInStep>
[[gnu::always_inline]] inline void sum_row(const DepthwiseRow& row, const DepthwiseTap* taps,
                                           int tap_count, float* out) {
  int j = 0;
  for (; j + kTile <= row.pixels; j += kTile) {
    sum_taps<kLanes, kInStep, kTile>(taps, tap_count, j, out, row.out_step);
  }
  // What is left of a row goes pixel by pixel.
  for (; j < row.pixels; ++j) sum_taps<kLanes, kInStep, 1>(taps, tap_count, j, out, row.out_step);
}

// Two sets of sums, of even and of odd pixels, so that additions need not wait for each other.
template <int kLanes, int kKernel, int kInStep>
[[gnu::always_inline]] inline void weight_row(int pixels, const float* x, const float* dy,
                                              float* sums) {
  using Floats = typename Lanes<kLanes>::Floats;
  constexpr std::ptrdiff_t kStep = std::ptrdiff_t{kInStep} * kLanes, kBlock = kLanes;
  Floats even[kKernel] = {}, odd[kKernel] = {};
  int j = 0;
  for (; j + 2 <= pixels; j += 2, x += 2 * kStep, dy += 2 * kBlock) {
    Floats slope, next, pixel;
    load_lanes(slope, dy);
    load_lanes(next, dy + kLanes);
#pragma GCC unroll 8
    for (int k = 0; k < kKernel; ++k) {
      load_lanes(pixel, x + k * kBlock);
      even[k] += slope * pixel;
      load_lanes(pixel, x + kStep + k * kBlock);
      odd[k] += next * pixel;
    }
  }
  if (j < pixels) {
    Floats slope, pixel;
    load_lanes(slope, dy);
    for (int k = 0; k < kKernel; ++k) {
      load_lanes(pixel, x + k * kBlock);
      even[k] += slope * pixel;
    }
  }
  for (int k = 0; k < kKernel; ++k) {
    Floats sum;
    load_lanes(sum, sums + k * kBlock);
    sum += even[k] + odd[k];
    store_lanes(sums + k * kBlock, sum);
  }
}

template <int kLanes, int kKernel>
[[gnu::always_inline]] inline void weight_row_by_step(const DepthwiseRow& row, const float* x,
                                                      const float* dy, float* sums) {
  row.in_step == 1 ? weight_row<kLanes, kKernel, 1>(row.pixels, x, dy, sums)
                   : weight_row<kLanes, kKernel, 2>(row.pixels, x, dy, sums);
}

template <int kLanes>
[[gnu::always_inline]] inline void weight_row_by_kernel(const DepthwiseRow& row, int kernel,
                                                        const float* x, const float* dy,
                                                        float* sums) {
  if (kernel == 1) weight_row_by_step<kLanes, 1>(row, x, dy, sums);
  if (kernel == 3) weight_row_by_step<kLanes, 3>(row, x, dy, sums);
  if (kernel == 5) weight_row_by_step<kLanes, 5>(row, x, dy, sums);
}

template <int kLanes>
[[gnu::always_inline]] inline void sum_row_by_step(const DepthwiseRow& row,
                                                   const DepthwiseTap* taps, int tap_count,
                                                   float* out) {
  row.in_step == 1 ? sum_row<kLanes, 1>(row, taps, tap_count, out)
                   : sum_row<kLanes, 2>(row, taps, tap_count, out);
}

}  // namespace

OCRTUNE_SIMD void depthwise_row(const DepthwiseRow& row, const DepthwiseTap* taps, int tap_count,
                                float* out) {
  row.lanes == 8 ? sum_row_by_step<8>(row, taps, tap_count, out)
                 : sum_row_by_step<16>(row, taps, tap_count, out);
}

OCRTUNE_SIMD void depthwise_weight_row(const DepthwiseRow& row, int kernel, const float* x,
                                       const float* dy, float* sums) {
  row.lanes == 8 ? weight_row_by_kernel<8>(row, kernel, x, dy, sums)
                 : weight_row_by_kernel<16>(row, kernel, x, dy, sums);
}

}  // namespace ocrtune
