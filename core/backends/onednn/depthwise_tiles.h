// Rows of depthwise convolutions in inference, with all that follows the convolution. As in
// core/backends/onednn/gemm_tiles.h, each register width has a source file of its own.
//
// A tile of results stays in registers over all taps, and a pixel is loaded once for all weights of
// a kernel row that it meets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/graph/graph.h"

namespace ocrtune {

constexpr int kMaxDepthwiseKernel = 5;

// One row of the result in one block of channels.
struct DepthwiseLine {
  int kernel = 3, stride = 1;  // kernel 3 or 5, stride 1 or 2
  int block = 8;               // channels: 8 or 16
  int rows = 0;                // of the kernel that lie in the image; of each:
  const float* in[kMaxDepthwiseKernel];
  const float* weights[kMaxDepthwiseKernel];  // [kernel, block]
  int in_columns = 0, out_columns = 0, pad = 0;
  const float* bias = nullptr;               // [block]; null: 0
  Activation activation = Activation::none;  // or relu, hard_swish
  float scale = 1, shift = 0;                // after the activation
  float* out = nullptr;
};

inline constexpr int kDepthwiseTile = 8;

template <int kBytes>
struct DepthwiseRegister {  // typedef: GCC 12 drops the attribute from an alias
  typedef float Vector __attribute__((vector_size(kBytes)));
};

template <int kBytes>
[[gnu::always_inline]] inline void finish_depthwise(
    const DepthwiseLine& line, typename DepthwiseRegister<kBytes>::Vector& sum) {
  using Vector = typename DepthwiseRegister<kBytes>::Vector;
  if (line.activation == Activation::relu) sum = sum > 0.0F ? sum : Vector{};
  if (line.activation == Activation::hard_swish) {
    const Vector inner = sum * (1.0F / 6) + 0.5F;
    const Vector low = inner > 0.0F ? inner : Vector{};
    sum *= low < 1.0F ? low : Vector{} + 1.0F;
  }
  sum = sum * line.scale + line.shift;
}

// kEdge: some pixels lie outside of the image, or some results outside of the row.
template <int kBytes, int kKernel, int kStride, bool kEdge>
[[gnu::always_inline]] inline void depthwise_tile(const DepthwiseLine& line, int lane, int first) {
  using Vector = typename DepthwiseRegister<kBytes>::Vector;
  const int start = first * kStride - line.pad;
  const auto at = [&](int column) { return std::ptrdiff_t{column} * line.block + lane; };
  Vector sums[kDepthwiseTile];
  Vector bias{};
  if (line.bias != nullptr) std::memcpy(&bias, line.bias + lane, kBytes);
  for (Vector& sum : sums) sum = bias;
  for (int row = 0; row < line.rows; ++row) {
    Vector weights[kKernel];
    for (int k = 0; k < kKernel; ++k) std::memcpy(&weights[k], line.weights[row] + at(k), kBytes);
    const float* in = line.in[row] + at(start);
#pragma GCC unroll 32
    for (int i = 0; i < (kDepthwiseTile - 1) * kStride + kKernel; ++i) {
      if (kEdge && (start + i < 0 || start + i >= line.in_columns)) continue;
      Vector x;
      std::memcpy(&x, in + std::ptrdiff_t{i} * line.block, kBytes);
#pragma GCC unroll 8
      for (int t = 0; t < kDepthwiseTile; ++t) {
        const int k = i - t * kStride;
        if (k >= 0 && k < kKernel) sums[t] += weights[k] * x;
      }
    }
  }
  const int count = kEdge ? std::min(kDepthwiseTile, line.out_columns - first) : kDepthwiseTile;
#pragma GCC unroll 8
  for (int t = 0; t < kDepthwiseTile; ++t) {
    if (kEdge && t >= count) break;
    finish_depthwise<kBytes>(line, sums[t]);
    std::memcpy(line.out + at(first + t), &sums[t], kBytes);
  }
}

template <int kBytes, int kKernel, int kStride>
inline void depthwise_lane(const DepthwiseLine& line, int lane) {
  const int wanted = (kDepthwiseTile - 1) * kStride + kKernel;
  for (int first = 0; first < line.out_columns; first += kDepthwiseTile) {
    const int start = first * kStride - line.pad;
    const bool whole = start >= 0 && start + wanted <= line.in_columns &&
                       first + kDepthwiseTile <= line.out_columns;
    whole ? depthwise_tile<kBytes, kKernel, kStride, false>(line, lane, first)
          : depthwise_tile<kBytes, kKernel, kStride, true>(line, lane, first);
  }
}

template <int kBytes>
inline void depthwise_tiles(const DepthwiseLine& line) {
  const auto lanes = static_cast<int>(kBytes / sizeof(float));
  for (int lane = 0; lane < line.block; lane += lanes) {
    if (line.kernel == 3 && line.stride == 1) depthwise_lane<kBytes, 3, 1>(line, lane);
    if (line.kernel == 3 && line.stride == 2) depthwise_lane<kBytes, 3, 2>(line, lane);
    if (line.kernel == 5 && line.stride == 1) depthwise_lane<kBytes, 5, 1>(line, lane);
    if (line.kernel == 5 && line.stride == 2) depthwise_lane<kBytes, 5, 2>(line, lane);
  }
}

void depthwise_line_avx2(const DepthwiseLine& line);
void depthwise_line_avx512(const DepthwiseLine& line);

}  // namespace ocrtune
