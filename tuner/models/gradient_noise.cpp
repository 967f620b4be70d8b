// Estimates of single updates are summed first and divided then: single ratios of noisy norms would
// be biased. The interval is a bootstrap over updates, within eight stretches of the run.
#include "tuner/models/gradient_noise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/random.h"

namespace ocrtune {
namespace {

constexpr int kNoiseRounds = 400;              // of the bootstrap
constexpr std::size_t kNoiseStretches = 8;     // of a run, each with a noise scale of its own
constexpr std::size_t kLeastNoisePoints = 16;  // two in each stretch

// Sums of unbiased estimates.
struct NoiseSums {
  double mean_square = 0;  // of the mean gradient
  double trace = 0;        // of the covariance of one sample's gradient
};

std::vector<NoiseSums> noise_estimates(const Learning& learning) {
  std::vector<NoiseSums> sums;
  const auto whole = static_cast<double>(learning.global_batch);
  if (learning.parts < 2 || whole < learning.parts) return sums;
  const double part = whole / learning.parts;
  for (const LearningPoint& point : learning.points) {
    if (!(point.part_square > 0) || !(point.whole_square > 0)) continue;
    // Appendix A: the large batch is the whole, the small one a part of it.
    sums.push_back({(whole * point.whole_square - part * point.part_square) / (whole - part),
                    (point.part_square - point.whole_square) / (1 / part - 1 / whole)});
  }
  return sums;
}

double scale_of_sums(const NoiseSums& sums) {
  // The estimate without bias may fall below 0: then noise hides the mean gradient.
  if (!(sums.mean_square > 0)) return std::numeric_limits<double>::infinity();
  return std::max(0.0, sums.trace / sums.mean_square);
}

// Of the stretch from `first` on, of the points that `pick` names.
NoiseSums sum_of_stretch(const std::vector<NoiseSums>& all, std::size_t first, std::size_t end,
                         const std::function<std::size_t(std::size_t, std::size_t)>& pick) {
  NoiseSums sums;
  for (std::size_t i = first; i < end; ++i) {
    const NoiseSums& one = all[pick(first, end)];
    sums.mean_square += one.mean_square;
    sums.trace += one.trace;
  }
  return sums;
}

// Of each stretch of the run.
std::vector<double> scales_along(const std::vector<NoiseSums>& all,
                                 const std::function<std::size_t(std::size_t, std::size_t)>& pick) {
  std::vector<double> scales;
  for (std::size_t i = 0; i < kNoiseStretches; ++i) {
    scales.push_back(scale_of_sums(sum_of_stretch(all, i * all.size() / kNoiseStretches,
                                                  (i + 1) * all.size() / kNoiseStretches, pick)));
  }
  return scales;
}

// By the scales' harmonic mean.
double efficiency_by_one_scale(const std::vector<double>& scales, double present, double other) {
  double inverse = 0;
  for (const double scale : scales) inverse += 1 / scale / static_cast<double>(scales.size());
  // A stretch without noise: the limit of what follows, where further samples bring nothing.
  if (std::isinf(inverse)) return present / other;
  return (1 + present * inverse) / (1 + other * inverse);
}

// `measure` of the points as they are, and its interval over points drawn anew.
template <typename Measure>
Interval with_interval(const Measure& measure) {
  // A fixed seed: the same run gives the same interval.
  Random random(1);
  std::size_t next = 0;
  Interval interval;
  interval.median = measure([&](std::size_t, std::size_t) { return next++; });
  std::vector<double> drawn;
  for (int round = 0; round < kNoiseRounds; ++round) {
    drawn.push_back(measure([&](std::size_t first, std::size_t end) {
      return static_cast<std::size_t>(
          random.integer(static_cast<std::int64_t>(first), static_cast<std::int64_t>(end) - 1));
    }));
  }
  std::sort(drawn.begin(), drawn.end());
  // A fortieth, 2.5 %, at either end.
  interval.low = drawn[kNoiseRounds / 40];
  interval.high = drawn[kNoiseRounds - 1 - kNoiseRounds / 40];
  return interval;
}

}  // namespace

Interval noise_scale(const Learning& learning) {
  const std::vector<NoiseSums> all = noise_estimates(learning);
  if (all.size() < kLeastNoisePoints) return {};
  return with_interval(
      [&](const auto& pick) { return scale_of_sums(sum_of_stretch(all, 0, all.size(), pick)); });
}

Interval noise_efficiency(const Learning& learning, std::int64_t global_batch) {
  const std::vector<NoiseSums> all = noise_estimates(learning);
  if (all.size() < kLeastNoisePoints || global_batch < 1) return {};
  const auto present = static_cast<double>(learning.global_batch);
  const auto other = static_cast<double>(global_batch);
  const Interval one = with_interval([&](const auto& pick) {
    return efficiency_by_one_scale(scales_along(all, pick), present, other);
  });
  // To 1: where steps are short, a large batch loses less than the noise says.
  return {one.median, std::min(one.low, 1.0), std::max(one.high, 1.0)};
}

}  // namespace ocrtune
