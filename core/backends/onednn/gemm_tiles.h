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

template <int kBytes, int kVectors, int kMaxRows>
[[gnu::always_inline]] inline void multiply_panel(GemmTile tile, std::size_t rows) {
  const float* a = tile.a;
  float* c = tile.c;
  std::size_t row = 0;
  for (; row + kMaxRows <= rows; row += kMaxRows) {
    tile.a = a + row * tile.a_row;
    tile.c = c + row * tile.c_stride;
    multiply_tile<kBytes, kMaxRows, kVectors>(tile);
  }
  for (; row < rows; ++row) {
    tile.a = a + row * tile.a_row;
    tile.c = c + row * tile.c_stride;
    multiply_tile<kBytes, 1, kVectors>(tile);
  }
}

[[gnu::always_inline]] inline void multiply_rest(const GemmTile& tile, std::size_t rows,
                                                 std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < columns; ++j) {
      float sum = tile.accumulate ? tile.c[r * tile.c_stride + j] : 0.0F;
      for (std::size_t k = 0; k < tile.depth; ++k) {
        sum += tile.a[r * tile.a_row + k * tile.a_step] * tile.b[k * tile.b_stride + j];
      }
      tile.c[r * tile.c_stride + j] = sum;
    }
  }
}

// Tiles as large as the registers allow: 32 of 64 bytes, 16 of 32 bytes, 16 of 16 bytes.
template <int kBytes, int kWideRows, int kWideVectors, int kNarrowRows>
[[gnu::always_inline]] inline void multiply_tiles(GemmTile tile, std::size_t rows,
                                                  std::size_t columns) {
  constexpr std::size_t kLanes = GemmRegister<kBytes>::kLanes;
  constexpr std::size_t kWide = static_cast<std::size_t>(kWideVectors) * kLanes;
  std::size_t column = 0;
  const GemmTile whole = tile;
  for (; column + kWide <= columns; column += kWide) {
    tile.b = whole.b + column;
    tile.c = whole.c + column;
    multiply_panel<kBytes, kWideVectors, kWideRows>(tile, rows);
  }
  for (; column + kLanes <= columns; column += kLanes) {
    tile.b = whole.b + column;
    tile.c = whole.c + column;
    multiply_panel<kBytes, 1, kNarrowRows>(tile, rows);
  }
  tile.b = whole.b + column;
  tile.c = whole.c + column;
  if (column < columns) multiply_rest(tile, rows, columns - column);
}

void multiply_avx2(const GemmTile& tile, std::size_t rows, std::size_t columns);
void multiply_avx512(const GemmTile& tile, std::size_t rows, std::size_t columns);

}  // namespace ocrtune
