#include "core/comm/gradient_mean.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace ocrtune {
namespace {

constexpr std::size_t kBlock = 2048;  // floats; the sums of one block stay in the L1 cache
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

[[gnu::always_inline]] inline void add_many(std::span<float* const> sources, float scale,
                                            std::span<float* const> targets, std::size_t first,
                                            std::size_t count) {
  float sum[kBlock];
  for (std::size_t at = first; at < first + count; at += kBlock) {
    const std::size_t length = std::min(kBlock, first + count - at);
    std::memcpy(sum, sources[0] + at, length * sizeof(float));
    for (std::size_t r = 1; r + 1 < sources.size(); ++r) {
      const float* slice = sources[r] + at;
      for (std::size_t i = 0; i < length; ++i) sum[i] += slice[i];
    }
    const float* last = sources.back() + at;
    for (std::size_t i = 0; i < length; ++i) sum[i] = (sum[i] + last[i]) * scale;
    for (float* target : targets) std::memcpy(target + at, sum, length * sizeof(float));
  }
}

// targets = sum of at least two sources, times `scale`.
[[gnu::always_inline]] inline void add(std::span<float* const> sources, float scale,
                                       std::span<float* const> targets, std::size_t first,
                                       std::size_t count) {
  if (sources.size() == 2 && sources.data() == targets.data()) {
    average_two(sources[0] + first, sources[1] + first, count);
  } else {
    add_many(sources, scale, targets, first, count);
  }
}

void add_anywhere(std::span<float* const> sources, float scale, std::span<float* const> targets,
                  std::size_t first, std::size_t count) {
  add(sources, scale, targets, first, count);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_avx2(std::span<float* const> sources, float scale,
                                      std::span<float* const> targets, std::size_t first,
                                      std::size_t count) {
  add(sources, scale, targets, first, count);
}

void add_best(std::span<float* const> sources, float scale, std::span<float* const> targets,
              std::size_t first, std::size_t count) {
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  kAvx2 ? add_avx2(sources, scale, targets, first, count)
        : add_anywhere(sources, scale, targets, first, count);
}
#else
void add_best(std::span<float* const> sources, float scale, std::span<float* const> targets,
              std::size_t first, std::size_t count) {
  add_anywhere(sources, scale, targets, first, count);
}
#endif

// work(first, count) over the range: by a team of `threads` where it is long enough.
template <typename Work>
void over_range(std::size_t first, std::size_t count, int threads, const Work& work) {
  if (threads < 2 || count < kMinParallel) {
    work(first, count);
    return;
  }
  const std::size_t blocks = (count + kBlock - 1) / kBlock;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t b = 0; b < blocks; ++b) {
    work(first + b * kBlock, std::min(kBlock, count - b * kBlock));
  }
}

}  // namespace

void average_slices(std::span<float* const> slices, std::size_t first, std::size_t count,
                    int threads) {
  if (slices.size() < 2) return;
  const float scale = 1.0F / static_cast<float>(slices.size());
  over_range(first, count, threads, [&](std::size_t from, std::size_t length) {
    add_best(slices, scale, slices, from, length);
  });
}

void add_slices(std::span<float* const> sources, float scale, float* target, std::size_t first,
                std::size_t count, int threads) {
  OCRTUNE_CHECK(sources.size() > 1);
  over_range(first, count, threads, [&](std::size_t from, std::size_t length) {
    add_best(sources, scale, std::span(&target, 1), from, length);
  });
}

void copy_slice(const float* source, std::span<float* const> targets, std::size_t first,
                std::size_t count, int threads) {
  over_range(first, count, threads, [&](std::size_t from, std::size_t length) {
    for (std::size_t at = from; at < from + length; at += kBlock) {
      const std::size_t bytes = std::min(kBlock, from + length - at) * sizeof(float);
      for (float* target : targets) std::memcpy(target + at, source + at, bytes);
    }
  });
}

}  // namespace ocrtune
