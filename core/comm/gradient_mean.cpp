// The loops are compiled for every CPU and for AVX2, and chosen at the first call. Two slices have
// a loop of their own; more go block by block through a buffer in the L1 cache.
#include "core/comm/gradient_mean.h"

#include <algorithm>
#include <cstring>

namespace ocrtune {
namespace {

constexpr std::size_t kBlock = 2048;  // floats; the sums of one block stay in the L1 cache
// Below so many floats (1 MiB) a team costs more than it brings (a guess).
constexpr std::size_t kMinParallel = 1 << 18;

// Compiled twice below: once for every CPU, once for AVX2.
[[gnu::always_inline]] inline void average_two(float* a, float* b, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const float mean = (a[i] + b[i]) * 0.5F;
    a[i] = mean;
    b[i] = mean;
  }
}

// The mean of at least two slices, into all of them.
[[gnu::always_inline]] inline void average(std::span<float* const> slices, std::size_t first,
                                           std::size_t count) {
  if (slices.size() == 2) return average_two(slices[0] + first, slices[1] + first, count);
  const float scale = 1.0F / static_cast<float>(slices.size());
  float sum[kBlock];
  for (std::size_t at = first; at < first + count; at += kBlock) {
    const std::size_t length = std::min(kBlock, first + count - at);
    std::memcpy(sum, slices[0] + at, length * sizeof(float));
    for (std::size_t r = 1; r + 1 < slices.size(); ++r) {
      const float* slice = slices[r] + at;
      for (std::size_t i = 0; i < length; ++i) sum[i] += slice[i];
    }
    // The last slice is added and scaled in one pass.
    const float* last = slices.back() + at;
    for (std::size_t i = 0; i < length; ++i) sum[i] = (sum[i] + last[i]) * scale;
    for (float* slice : slices) std::memcpy(slice + at, sum, length * sizeof(float));
  }
}

void average_anywhere(std::span<float* const> slices, std::size_t first, std::size_t count) {
  average(slices, first, count);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void average_avx2(std::span<float* const> slices, std::size_t first,
                                          std::size_t count) {
  average(slices, first, count);
}

void average_best(std::span<float* const> slices, std::size_t first, std::size_t count) {
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  kAvx2 ? average_avx2(slices, first, count) : average_anywhere(slices, first, count);
}
#else
void average_best(std::span<float* const> slices, std::size_t first, std::size_t count) {
  average_anywhere(slices, first, count);
}
#endif

}  // namespace

// By a team of `threads` where the range is long enough.
void average_slices(std::span<float* const> slices, std::size_t first, std::size_t count,
                    int threads) {
  if (slices.size() < 2) return;
  if (threads < 2 || count < kMinParallel) return average_best(slices, first, count);
  const std::size_t blocks = (count + kBlock - 1) / kBlock;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t b = 0; b < blocks; ++b) {
    average_best(slices, first + b * kBlock, std::min(kBlock, count - b * kBlock));
  }
}

}  // namespace ocrtune
