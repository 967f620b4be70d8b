#include "core/backends/onednn/gemm.h"

#include <dnnl.h>

namespace ocrtune {
namespace {

using Vector = float __attribute__((vector_size(64)));
using UnalignedVector = float __attribute__((vector_size(64), aligned(4)));
constexpr std::size_t kLanes = 16;

struct Tile {
  const float* a;
  std::size_t a_row, a_step;  // floats from row to row, and along the depth
  const float* b;
  std::size_t b_stride;
  float* c;
  std::size_t c_stride;
  std::size_t depth;
  bool accumulate;
};

// kRows x (kVectors * 16) outputs stay in registers over the whole depth.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(const Tile& tile) {
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const auto* from = reinterpret_cast<const UnalignedVector*>(
          tile.c + static_cast<std::size_t>(r) * tile.c_stride);
      sums[r][v] = tile.accumulate ? Vector(from[v]) : Vector{};
    }
  }
  for (std::size_t k = 0; k < tile.depth; ++k) {
    const auto* row = reinterpret_cast<const UnalignedVector*>(tile.b + k * tile.b_stride);
    Vector b[kVectors];
    for (int v = 0; v < kVectors; ++v) b[v] = row[v];
    for (int r = 0; r < kRows; ++r) {
      const float a = tile.a[static_cast<std::size_t>(r) * tile.a_row + k * tile.a_step];
      for (int v = 0; v < kVectors; ++v) sums[r][v] += a * b[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    auto* to =
        reinterpret_cast<UnalignedVector*>(tile.c + static_cast<std::size_t>(r) * tile.c_stride);
    for (int v = 0; v < kVectors; ++v) to[v] = sums[r][v];
  }
}

template <int kVectors, int kMaxRows>
[[gnu::always_inline]] inline void multiply_panel(Tile tile, std::size_t rows) {
  const float* a = tile.a;
  float* c = tile.c;
  std::size_t row = 0;
  for (; row + kMaxRows <= rows; row += kMaxRows) {
    tile.a = a + row * tile.a_row;
    tile.c = c + row * tile.c_stride;
    multiply_tile<kMaxRows, kVectors>(tile);
  }
  for (; row < rows; ++row) {
    tile.a = a + row * tile.a_row;
    tile.c = c + row * tile.c_stride;
    multiply_tile<1, kVectors>(tile);
  }
}

[[gnu::always_inline]] inline void multiply_rest(const Tile& tile, std::size_t rows,
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
template <int kWideRows, int kWideVectors, int kNarrowRows>
[[gnu::always_inline]] inline void multiply(Tile tile, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kWide = static_cast<std::size_t>(kWideVectors) * kLanes;
  std::size_t column = 0;
  const Tile whole = tile;
  for (; column + kWide <= columns; column += kWide) {
    tile.b = whole.b + column;
    tile.c = whole.c + column;
    multiply_panel<kWideVectors, kWideRows>(tile, rows);
  }
  for (; column + kLanes <= columns; column += kLanes) {
    tile.b = whole.b + column;
    tile.c = whole.c + column;
    multiply_panel<1, kNarrowRows>(tile, rows);
  }
  tile.b = whole.b + column;
  tile.c = whole.c + column;
  if (column < columns) multiply_rest(tile, rows, columns - column);
}

using Multiply = void (*)(const Tile&, std::size_t, std::size_t);

void multiply_plain(const Tile& tile, std::size_t rows, std::size_t columns) {
  multiply<2, 1, 2>(tile, rows, columns);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiply_avx2(const Tile& tile, std::size_t rows,
                                                       std::size_t columns) {
  multiply<6, 1, 6>(tile, rows, columns);
}

#if !defined(OCRTUNE_AVX2_ONLY)
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))) void multiply_avx512(
    const Tile& tile, std::size_t rows, std::size_t columns) {
  multiply<8, 3, 16>(tile, rows, columns);
}
#endif

Multiply choose_multiply() {
#if !defined(OCRTUNE_AVX2_ONLY)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
    return multiply_avx512;
  }
#endif
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_avx2;
  return multiply_plain;
}
#else
Multiply choose_multiply() { return multiply_plain; }
#endif

}  // namespace

Status gemm(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
            const MatrixView& b, float beta, float* c, std::size_t c_stride) {
  const auto signed_size = [](std::size_t size) { return static_cast<dnnl_dim_t>(size); };
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', signed_size(rows),
                 signed_size(columns), signed_size(depth), 1.0F, a.start, signed_size(a.stride),
                 b.start, signed_size(b.stride), beta, c, signed_size(c_stride));
  if (status == dnnl_success) return Status();
  return Error{status == dnnl_out_of_memory ? ErrorKind::exhausted : ErrorKind::failed,
               "oneDNN matrix product: status " + std::to_string(status)};
}

void small_gemm(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
                const float* b, std::size_t b_stride, bool accumulate, float* c,
                std::size_t c_stride) {
  static const Multiply chosen = choose_multiply();
  const std::size_t row = a.transposed ? 1 : a.stride, step = a.transposed ? a.stride : 1;
  chosen(Tile{a.start, row, step, b, b_stride, c, c_stride, depth, accumulate}, rows, columns);
}

}  // namespace ocrtune
