// The vector loops of products in 8-bit integers: unsigned bytes of activations times signed bytes
// of weights, summed in 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/graph/graph.h"

namespace ocrtune {

// Whether this CPU has AVX512-VNNI, which adds four products at once without saturating between.
bool has_native_int8();

inline constexpr int kInt8Lanes = 16;   // channels of the result in one vector
inline constexpr int kInt8Vectors = 3;  // most vectors of one panel of weights
inline constexpr int kInt8Pixels = 8;   // most pixels of one tile

// The smallest and the largest of the floats and 0.
void find_extremes(const float* x, std::size_t count, float& low, float& high);

// Pixels whose channels lie in blocks of kInt8Lanes, or all in one block, as bytes one behind the
// other: round(x * factor + zero), not below 0 and not above 255. What is left of `depth` is
// `zero`.
struct Int8Row {
  int pixels = 0, blocks = 1, block = kInt8Lanes, depth = kInt8Lanes;
  std::size_t block_step = 0;  // floats from one block of a pixel to the next
  float factor = 1, zero = 0;
};
void quantise(const Int8Row& row, const float* x, std::uint8_t* to);

// Weights lie [tap][depth / 4][vector][lane][4]: the order in which a tile reads them.
struct Int8Tile {
  const std::uint8_t* first = nullptr;  // pixel of the source, at tap 0
  std::ptrdiff_t pixel_bytes = 0;       // from one pixel of the result to the next, in the source
  const std::ptrdiff_t* taps = nullptr;
  int tap_count = 1;
  int depth = 0;  // bytes of one tap, a multiple of 4
  const std::int8_t* weights = nullptr;
};

// sums[pixel][vector][lane] for `pixels` (1 to kInt8Pixels) and `vectors` (1 to kInt8Vectors).
// Only where has_native_int8().
void multiply_int8(const Int8Tile& tile, int pixels, int vectors, std::int32_t* sums);

// y = s1 act(sum * factor + shift) + t1 for the first `lanes` of each pixel; `padding` zeros stand
// behind them. `to` and `sums` advance by their steps from pixel to pixel.
struct Int8Finish {
  Activation activation = Activation::none;
  float s1 = 1, t1 = 0;
  const float* factor = nullptr;  // [kInt8Lanes]
  const float* shift = nullptr;   // [kInt8Lanes]
  int lanes = kInt8Lanes;
  bool pads = false;  // lanes that are left get 0
};
void finish_int8(const Int8Finish& finish, const std::int32_t* sums, std::ptrdiff_t sum_step,
                 int pixels, float* to, std::ptrdiff_t to_step);

}  // namespace ocrtune
