// The vector loops of batch norm: rows of pixels in one channel block.
//
// A row is `pixels` pixels of `block` floats. Per-channel arguments are arrays of `lanes` floats,
// where lanes is 16 if the block divides 16 (the block repeated), else the block itself: see
// norm_lanes().
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/graph/graph.h"

namespace ocrtune {

inline constexpr int kNormVector = 16;

inline int norm_lanes(int block) { return kNormVector % block == 0 ? kNormVector : block; }

// Per-channel numbers as the row loops want them: a run of lanes for each channel block.
class LaneTable {
 public:
  LaneTable(float* start, int block) : start_(start), block_(block), lanes_(norm_lanes(block)) {}
  void set(int channel, float value) {
    float* run = start_ + static_cast<std::size_t>(channel / block_ * lanes_);
    for (int lane = channel % block_; lane < lanes_; lane += block_) run[lane] = value;
  }
  const float* of_block(int cb) const { return start_ + static_cast<std::size_t>(cb * lanes_); }

 private:
  float* start_;
  int block_, lanes_;
};

struct RowShape {
  std::size_t pixels = 0;
  int block = 0;
};

// sum += x - shift, squares += (x - shift)^2, in each lane.
void norm_measure_row(const RowShape& row, const float* x, const float* shift, float* sum,
                      float* squares);

// y = act(scale x + offset)
void norm_apply_row(const RowShape& row, Activation activation, const float* x, const float* scale,
                    const float* offset, float* y);

// y += scale x
void norm_add_row(const RowShape& row, const float* x, const float* scale, float* y);

// sum += dz, product += dz (x - mean), dz = dy act'(scale x + offset)
void norm_slope_row(const RowShape& row, Activation activation, const float* x, const float* scale,
                    const float* offset, const float* mean, const float* dy, float* sum,
                    float* product);

// dx = scale dz + slope x + constant
void norm_gradient_row(const RowShape& row, Activation activation, const float* x,
                       const float* scale, const float* offset, const float* slope,
                       const float* constant, const float* dy, float* dx);

// A pool window of `height` rows, `stride` floats apart, and `width` columns.
struct WindowShape {
  int height = 1, width = 1;
  std::size_t stride = 0;
};

// y = act(max over the window of scale x + offset); index = the place of the maximum, or one beyond
// the window where ReLU lets nothing through. row.pixels counts outputs; the block is 16, 8 or 1.
void pool_apply_row(const RowShape& row, const WindowShape& window, bool relu, const float* x,
                    const float* scale, const float* offset, float* y, std::uint8_t* index);

// As norm_slope_row, for the places in `index` alone.
void pool_slope_row(const RowShape& row, const WindowShape& window, const float* x,
                    const float* mean, const float* dy, const std::uint8_t* index, float* sum,
                    float* product);

// As norm_gradient_row, over the whole windows.
void pool_gradient_row(const RowShape& row, const WindowShape& window, const float* x,
                       const float* scale, const float* slope, const float* constant,
                       const float* dy, const std::uint8_t* index, float* dx);

}  // namespace ocrtune
