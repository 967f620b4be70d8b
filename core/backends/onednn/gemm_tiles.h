// Small matrix products in registers. Each register width has a source file of its own that is
// compiled for it: GCC splits vectors by what the file, not the function, is compiled for.
#pragma once

#include <cstddef>
#include <cstring>

namespace ocrtune {

// One register: a wider type would be kept in memory.
template <int kBytes>
struct GemmRegister {
  using Vector [[gnu::vector_size(kBytes)]] = float;
  static_assert(sizeof(Vector) == kBytes);
  static constexpr std::size_t kLanes = kBytes / sizeof(float);
};

struct GemmTile {
  const float* a;
  std::size_t a_row, a_step;  // floats from row to row, and along the depth
  const float* b;
  std::size_t b_stride;
  float* c;
  std::size_t c_stride;
  std::size_t depth;
  bool accumulate;
};

// kRows x (kVectors * lanes) outputs stay in registers over the whole depth.
template <int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(const GemmTile& tile) {
  using Vector = typename GemmRegister<kBytes>::Vector;
  const auto load = [](const float* from) {
    Vector vector;
    std::memcpy(&vector, from, kBytes);  // it may lie anywhere
    return vector;
  };
  constexpr std::size_t kLanes = GemmRegister<kBytes>::kLanes;
  Vector sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = tile.accumulate ? load(tile.c + r * tile.c_stride + v * kLanes) : Vector{};
    }
  }
  for (std::size_t k = 0; k < tile.depth; ++k) {
    Vector b[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) b[v] = load(tile.b + k * tile.b_stride + v * kLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const float a = tile.a[r * tile.a_row + k * tile.a_step];
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] += a * b[v];
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      std::memcpy(tile.c + r * tile.c_stride + v * kLanes, &sums[r][v], kBytes);
    }
  }
}

template <int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_panel(GemmTile tile, std::size_t rows) {
  for (; rows >= kRows; rows -= kRows) {
    multiply_tile<kBytes, kRows, kVectors>(tile);
    tile.a += kRows * tile.a_row;
    tile.c += kRows * tile.c_stride;
  }
  if constexpr (kRows > 1) multiply_panel<kBytes, kRows / 2, kVectors>(tile, rows);
}

// Tiles of kSums registers, the wider the better; what is left of the columns has narrower ones.
template <int kBytes, int kVectors, int kSums>
[[gnu::always_inline]] inline void multiply_tiles(GemmTile tile, std::size_t rows,
                                                  std::size_t columns) {
  constexpr std::size_t kWidth = kVectors * GemmRegister<kBytes>::kLanes;
  for (; columns >= kWidth; columns -= kWidth) {
    multiply_panel<kBytes, kSums / kVectors, kVectors>(tile, rows);
    tile.b += kWidth;
    tile.c += kWidth;
  }
  if constexpr (kVectors > 1) {
    multiply_tiles<kBytes, kVectors - 1, kSums>(tile, rows, columns);
  } else if constexpr (kWidth > 1) {
    multiply_tiles<kBytes / 2, 1, kSums>(tile, rows, columns);
  }
}

void multiply_avx2(const GemmTile& tile, std::size_t rows, std::size_t columns);
void multiply_avx512(const GemmTile& tile, std::size_t rows, std::size_t columns);

}  // namespace ocrtune
