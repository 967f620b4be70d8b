#include "bench/kernels/peaks.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "core/simd/lanes.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

constexpr int kChains = 12;  // independent sums: two units with a latency of four or five
constexpr int kRounds = 200'000, kRepeats = 7;
constexpr std::size_t kFloats = std::size_t{1} << 24;  // 64 MiB an array

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <int kLanes>
[[gnu::always_inline]] inline float chains(int rounds, float factor) {
  using Floats = typename Lanes<kLanes>::Floats;
  Floats sums[kChains];
  for (int k = 0; k < kChains; ++k) sums[k] = Floats{} + static_cast<float>(k);
  const Floats scale = Floats{} + factor, shift = Floats{} + 1e-6F;
  for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) sums[k] = sums[k] * scale + shift;
  }
  float total = 0;
  for (int k = 0; k < kChains; ++k) total += sums[k][0];
  return total;
}

// One vector register wide where there is AVX2 (8) or AVX-512 (16): the faster one counts.
OCRTUNE_SIMD float chains_of_8(int rounds, float factor) { return chains<8>(rounds, factor); }
OCRTUNE_SIMD float chains_of_16(int rounds, float factor) { return chains<16>(rounds, factor); }

OCRTUNE_SIMD void triad(const float* __restrict x, const float* __restrict z, float* __restrict y,
                        std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = 0.5F * x[i] + z[i];
}

double flops_of(int threads, int lanes, float (*run)(int, float)) {
  double best = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double start = now_seconds();
    float total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
    total += run(kRounds, 0.999F);
    OCRTUNE_CHECK(std::isfinite(total));  // somebody must want the sums
    const double operations = 2.0 * kRounds * kChains * lanes * threads;
    best = std::max(best, operations / (now_seconds() - start));
  }
  return best;
}

}  // namespace

double measure_peak_flops(int threads) {
  return std::max(flops_of(threads, 8, chains_of_8), flops_of(threads, 16, chains_of_16));
}

double measure_peak_bytes(int threads) {
  std::vector<float> x(kFloats, 1.0F), y(kFloats), z(kFloats, 2.0F);
  double best = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double start = now_seconds();
#pragma omp parallel num_threads(threads)
    {
      const auto team = static_cast<std::size_t>(omp_get_num_threads());
      const std::size_t part = kFloats / team;
      const std::size_t first = part * static_cast<std::size_t>(omp_get_thread_num());
      triad(x.data() + first, z.data() + first, y.data() + first, part);
    }
    best = std::max(best, 3.0 * sizeof(float) * kFloats / (now_seconds() - start));
  }
  return best;
}

}  // namespace ocrtune
