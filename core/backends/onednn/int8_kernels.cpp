// Only the product needs intrinsics: VNNI's dpbusd adds four products of bytes to a 32-bit sum. The
// other loops are plain and left to the compiler.
#include "core/backends/onednn/int8_kernels.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/check.h"
#include "core/backends/onednn/vector_activation.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

#if defined(__x86_64__)

#define OCRTUNE_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

// kPixels x kVectors sums stay in registers over all taps.
template <int kPixels, int kVectors>
OCRTUNE_VNNI void int8_tile(const Int8Tile& tile, std::int32_t* out) {
  __m512i sums[kPixels][kVectors];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_setzero_si512();
  }
  const std::int8_t* weights = tile.weights;
  for (int t = 0; t < tile.tap_count; ++t) {
    const std::uint8_t* from = tile.first + tile.taps[t];
    for (int d = 0; d < tile.depth; d += 4, weights += std::ptrdiff_t{64} * kVectors) {
      __m512i b[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        b[v] = _mm512_loadu_si512(weights + std::ptrdiff_t{64} * v);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        std::int32_t four = 0;
        std::memcpy(&four, from + p * tile.pixel_bytes + d, 4);
        const __m512i a = _mm512_set1_epi32(four);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], a, b[v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      _mm512_storeu_si512(out + std::ptrdiff_t{p * kVectors + v} * kInt8Lanes, sums[p][v]);
    }
  }
}

template <int kVectors>
void int8_pixels(Int8Tile tile, int pixels, std::int32_t* sums) {
  // 8 pixels by 3 vectors are 24 of the 32 registers; weights take three, the pixel one.
  if (pixels == kInt8Pixels) return int8_tile<kInt8Pixels, kVectors>(tile, sums);
  for (int p = 0; p < pixels; ++p) {
    int8_tile<1, kVectors>(tile, sums);
    tile.first += tile.pixel_bytes;
    sums += std::ptrdiff_t{kVectors} * kInt8Lanes;
  }
}

#endif

template <Activation kActivation>
[[gnu::always_inline]] inline void finish_all(const Int8Finish& finish, const std::int32_t* sums,
                                              std::ptrdiff_t sum_step, int pixels, float* to,
                                              std::ptrdiff_t to_step) {
  for (int p = 0; p < pixels; ++p, sums += sum_step, to += to_step) {
    float row[kInt8Lanes];
    for (int l = 0; l < kInt8Lanes; ++l) {
      const float x = static_cast<float>(sums[l]) * finish.factor[l] + finish.shift[l];
      row[l] = finish.s1 * vector_activate<kActivation>(x) + finish.t1;
    }
    if (finish.lanes == kInt8Lanes) {
      std::memcpy(to, row, sizeof row);
      continue;
    }
    for (int l = 0; l < finish.lanes; ++l) to[l] = row[l];
    for (int l = finish.lanes; finish.pads && l < kInt8Lanes; ++l) to[l] = 0;
  }
}

[[gnu::always_inline]] inline void quantise_run(const float* __restrict x, int count, float factor,
                                                float zero, std::uint8_t* __restrict to) {
  for (int i = 0; i < count; ++i) {
    // The conversion cuts off, so half is added first: right for numbers that are not negative.
    float value = x[i] * factor + (zero + 0.5F);
    value = value > 0.0F ? value : 0.0F;
    value = value < 255.0F ? value : 255.0F;
    to[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(value));
  }
}

}  // namespace

bool has_native_int8() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

OCRTUNE_SIMD void find_extremes(const float* x, std::size_t count, float& low, float& high) {
  float least = 0, most = 0;
#pragma omp simd reduction(min : least) reduction(max : most)
  for (std::size_t i = 0; i < count; ++i) {
    least = x[i] < least ? x[i] : least;
    most = x[i] > most ? x[i] : most;
  }
  low = least;
  high = most;
}

OCRTUNE_SIMD void quantise(const Int8Row& row, const float* __restrict x,
                           std::uint8_t* __restrict to) {
  for (int p = 0; p < row.pixels; ++p, x += row.block, to += row.depth) {
    if (row.block == kInt8Lanes) {
      for (int b = 0; b < row.blocks; ++b) {
        quantise_run(x + static_cast<std::size_t>(b) * row.block_step, kInt8Lanes, row.factor,
                     row.zero, to + std::ptrdiff_t{b} * kInt8Lanes);
      }
      continue;
    }
    quantise_run(x, row.block, row.factor, row.zero, to);
    for (int c = row.block; c < row.depth; ++c) to[c] = static_cast<std::uint8_t>(row.zero);
  }
}

void multiply_int8(const Int8Tile& tile, int pixels, int vectors, std::int32_t* sums) {
#if defined(__x86_64__)
  if (vectors == 3) int8_pixels<3>(tile, pixels, sums);
  if (vectors == 2) int8_pixels<2>(tile, pixels, sums);
  if (vectors == 1) int8_pixels<1>(tile, pixels, sums);
#else
  (void)tile, (void)pixels, (void)vectors, (void)sums;
  OCRTUNE_CHECK(false);
#endif
}

OCRTUNE_SIMD void finish_int8(const Int8Finish& finish, const std::int32_t* sums,
                              std::ptrdiff_t sum_step, int pixels, float* to,
                              std::ptrdiff_t to_step) {
  OCRTUNE_FOR_ACTIVATION(finish.activation, finish_all, finish, sums, sum_step, pixels, to,
                         to_step);
}

}  // namespace ocrtune
