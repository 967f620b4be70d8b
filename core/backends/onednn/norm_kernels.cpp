// Each loop is a lambda over (index, lane) that over_row() runs in vectors of 16. The max-pool
// loops are in pool_kernels.cpp.
#include "core/backends/onednn/norm_kernels.h"

#include "core/backends/onednn/vector_activation.h"
#include "core/simd/lanes.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

using Floats = Lanes<kNormVector>::Floats;

// Calls body(float index, lane) over all floats of a row: 16 lanes at a time where the block
// divides 16, pixel by pixel otherwise.
template <typename Body>
[[gnu::always_inline]] inline void over_row(const RowShape& row, const Body& body) {
  const auto block = static_cast<std::size_t>(row.block);
  const std::size_t count = row.pixels * block;
  if (kNormVector % row.block == 0) {
    std::size_t i = 0;
    for (; i + kNormVector <= count; i += kNormVector) {
#pragma GCC ivdep
      for (std::size_t lane = 0; lane < kNormVector; ++lane) body(i + lane, lane);
    }
    for (std::size_t lane = 0; i + lane < count; ++lane) body(i + lane, lane);
    return;
  }
  for (std::size_t i = 0; i < count; i += block) {
#pragma GCC ivdep
    for (std::size_t lane = 0; lane < block; ++lane) body(i + lane, lane);
  }
}

[[gnu::always_inline]] inline void add_lanes(float* to, const Floats& value) {
  Floats sum;
  load_lanes(sum, to);
  sum += value;
  store_lanes(to, sum);
}

template <Activation kActivation>
[[gnu::always_inline]] inline void apply(const RowShape& row, const float* __restrict x,
                                         const float* __restrict scale,
                                         const float* __restrict offset, float* __restrict y) {
  over_row(
      row, [=](std::size_t i, std::size_t lane) __attribute__((always_inline)) {
        y[i] = vector_activate<kActivation>(scale[lane] * x[i] + offset[lane]);
      });
}

struct SlopeArguments {
  const float *x, *scale, *offset, *mean, *dy;
  float *sum, *product;
};

template <Activation kActivation>
[[gnu::always_inline]] inline void slope_sums(const RowShape& row, const SlopeArguments& a) {
  const float* __restrict x = a.x;
  const float* __restrict scale = a.scale;
  const float* __restrict offset = a.offset;
  const float* __restrict mean = a.mean;
  const float* __restrict dy = a.dy;
  float* __restrict sum = a.sum;
  float* __restrict product = a.product;
  over_row(
      row, [=](std::size_t i, std::size_t lane) __attribute__((always_inline)) {
        const float dz = dy[i] * vector_slope<kActivation>(scale[lane] * x[i] + offset[lane]);
        sum[lane] += dz;
        product[lane] += dz * (x[i] - mean[lane]);
      });
}

struct GradientArguments {
  const float *x, *scale, *offset, *slope, *constant, *dy;
  float* dx;
};

template <Activation kActivation>
[[gnu::always_inline]] inline void gradients(const RowShape& row, const GradientArguments& a) {
  const float* __restrict x = a.x;
  const float* __restrict scale = a.scale;
  const float* __restrict offset = a.offset;
  const float* __restrict slope = a.slope;
  const float* __restrict constant = a.constant;
  const float* __restrict dy = a.dy;
  float* __restrict dx = a.dx;
  over_row(
      row, [=](std::size_t i, std::size_t lane) __attribute__((always_inline)) {
        const float dz = dy[i] * vector_slope<kActivation>(scale[lane] * x[i] + offset[lane]);
        dx[i] = scale[lane] * dz + slope[lane] * x[i] + constant[lane];
      });
}

}  // namespace

OCRTUNE_SIMD void norm_measure_row(const RowShape& row, const float* __restrict x,
                                   const float* __restrict shift, float* __restrict sum,
                                   float* __restrict squares) {
  std::size_t done = 0;
  if (kNormVector % row.block == 0) {  // four independent sums hide the latency of each
    const std::size_t count = row.pixels * static_cast<std::size_t>(row.block);
    Floats centre, value, sums[4] = {}, products[4] = {};
    load_lanes(centre, shift);
    for (; done + 4UL * kNormVector <= count; done += 4UL * kNormVector) {
      for (std::size_t k = 0; k < 4; ++k) {
        load_lanes(value, x + done + k * kNormVector);
        value -= centre;
        sums[k] += value;
        products[k] += value * value;
      }
    }
    add_lanes(sum, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    add_lanes(squares, (products[0] + products[1]) + (products[2] + products[3]));
  }
  // `done` is a multiple of 64 floats and so of every block that divides 16.
  const RowShape rest{row.pixels - done / static_cast<std::size_t>(row.block), row.block};
  x += done;
  over_row(
      rest, [=](std::size_t i, std::size_t lane) __attribute__((always_inline)) {
        const float d = x[i] - shift[lane];
        sum[lane] += d;
        squares[lane] += d * d;
      });
}

OCRTUNE_SIMD void norm_add_row(const RowShape& row, const float* x, const float* scale, float* y) {
  const float* __restrict from = x;
  const float* __restrict factors = scale;
  float* __restrict to = y;
  over_row(
      row, [=](std::size_t i, std::size_t lane)
               __attribute__((always_inline)) { to[i] += factors[lane] * from[i]; });
}

OCRTUNE_SIMD void norm_apply_row(const RowShape& row, Activation activation, const float* x,
                                 const float* scale, const float* offset, float* y) {
  OCRTUNE_FOR_ACTIVATION(activation, apply, row, x, scale, offset, y);
}

OCRTUNE_SIMD void norm_slope_row(const RowShape& row, Activation activation, const float* x,
                                 const float* scale, const float* offset, const float* mean,
                                 const float* dy, float* sum, float* product) {
  const SlopeArguments arguments{x, scale, offset, mean, dy, sum, product};
  OCRTUNE_FOR_ACTIVATION(activation, slope_sums, row, arguments);
}

OCRTUNE_SIMD void norm_gradient_row(const RowShape& row, Activation activation, const float* x,
                                    const float* scale, const float* offset, const float* slope,
                                    const float* constant, const float* dy, float* dx) {
  const GradientArguments arguments{x, scale, offset, slope, constant, dy, dx};
  OCRTUNE_FOR_ACTIVATION(activation, gradients, row, arguments);
}

}  // namespace ocrtune
