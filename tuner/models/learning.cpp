// Losses are smoothed over as many samples in every run and cut at one common level, straight
// between points. Seeds are averaged as logarithms of ratios. docs/statistics.md, "What a sample is
// worth", has the reasons.
#include "tuner/models/learning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tuner/models/gradient_noise.h"

namespace ocrtune {
namespace {

// A loss is smoothed over the same samples of each run, so that what the curve bends within them
// moves all runs alike: a share of the shortest run, and at least so many of the larger batch.
constexpr double kWindowShare = 1.0 / 16;
constexpr double kWindowBatches = 4;
constexpr double kLeastLearned = 0.1;    // of the first loss: a smaller fall tells nothing
constexpr std::size_t kLeastStarts = 2;  // one alone has no interval

// One start, trained by both recipes.
struct LearningPair {
  SmoothedLoss present, other;
  double first_loss = 0;  // of the present recipe, before any smoothing
};

// The least loss, and what the run's last half rises again at most: where it no longer falls, its
// least loss is scatter.
double reached_loss(const SmoothedLoss& run) {
  double least = std::numeric_limits<double>::infinity(), rise = 0;
  for (std::size_t i = 0; i < run.loss.size(); ++i) {
    least = std::min(least, run.loss[i]);
    if (2 * i >= run.loss.size()) rise = std::max(rise, run.loss[i] - least);
  }
  return least + rise;
}

// The loss that all reach, at the latest; unset: one of them learned next to nothing, or was below
// it before anything is known of it.
std::optional<double> common_loss(const std::vector<LearningPair>& pairs) {
  double common = 0, first = std::numeric_limits<double>::infinity();
  for (const LearningPair& pair : pairs) {
    for (const SmoothedLoss* run : {&pair.present, &pair.other}) {
      if (run->loss.size() < 2) return std::nullopt;
      const double least = *std::min_element(run->loss.begin(), run->loss.end());
      if (least > (1 - kLeastLearned) * run->loss.front()) return std::nullopt;
      common = std::max(common, reached_loss(*run));
      first = std::min(first, run->loss.front());
    }
  }
  // The highest of the least losses was there from the start: nothing was learned to it.
  if (common >= first) return std::nullopt;
  return common;
}

// The other recipe hardly learned: what the present one took to a loss clearly below all that the
// other one reached, over the samples of that one. Unset: the present one did not reach it, or
// began below it.
std::optional<LearningWorth> bounded_worth(const std::vector<LearningPair>& pairs,
                                           LearningWorth worth, const Interval& rate) {
  double least = std::numeric_limits<double>::infinity();
  for (const LearningPair& pair : pairs) {
    for (const double loss : pair.other.loss) least = std::min(least, loss);
  }
  worth.loss = (1 - kLeastLearned) * least;
  double bound = 0, most = 0;
  for (const auto& [present, other, first_loss] : pairs) {
    if (present.loss.empty() || other.loss.empty() || first_loss <= worth.loss ||
        reached_loss(present) > worth.loss) {
      return std::nullopt;
    }
    const double samples = *samples_to(present, worth.loss);
    bound = std::max(bound, samples / other.samples.back());
    most = std::max(most, samples);
  }
  worth.samples = std::llround(most);
  worth.efficiency = {bound, 0, bound};
  worth.speedup = {rate.median * bound, 0, rate.high * bound};
  return worth;
}

// The mean of at least two logarithms with its interval at 95 %, as a ratio.
Interval ratio_of_logs(const std::vector<double>& logs) {
  const double middle = mean(logs);
  const auto count = static_cast<double>(logs.size());
  const double half = t_quantile_95(count - 1) * stddev(logs) / std::sqrt(count);
  return {std::exp(middle), std::exp(middle - half), std::exp(middle + half)};
}

// Of a product of two independent ratios.
Interval product(const Interval& a, const Interval& b) {
  const double median = a.median * b.median;
  // No logarithm of 0: the lower end stays open.
  if (!(median > 0) || !(a.low > 0) || !(b.low > 0)) return {median, 0, a.high * b.high};
  const double low = std::hypot(std::log(a.median / a.low), std::log(b.median / b.low));
  const double high = std::hypot(std::log(a.high / a.median), std::log(b.high / b.median));
  return {median, median * std::exp(-low), median * std::exp(high)};
}

}  // namespace

double learning_rate_factor(std::int64_t global_batch, std::int64_t present_batch) {
  if (global_batch < 1 || present_batch < 1) return 1;
  return std::sqrt(static_cast<double>(global_batch) / static_cast<double>(present_batch));
}

SmoothedLoss smoothed_loss(const Learning& learning, double window) {
  SmoothedLoss run;
  const std::vector<LearningPoint>& points = learning.points;
  std::size_t first = 0;
  double held = 0, samples = 0, loss = 0;  // sums over the window
  const auto add = [&](const LearningPoint& point, double weight) {
    held += weight;
    samples += weight * point.samples;
    loss += weight * point.loss;
  };
  for (const LearningPoint& point : points) {
    add(point, point.weight);
    // The oldest leave as soon as the others fill the window.
    for (; held - points[first].weight >= window; ++first)
      add(points[first], -points[first].weight);
    if (held < window) continue;
    run.samples.push_back(samples / held);
    run.loss.push_back(loss / held);
  }
  return run;
}

std::optional<double> samples_to(const SmoothedLoss& run, double loss) {
  for (std::size_t i = 0; i < run.loss.size(); ++i) {
    if (run.loss[i] > loss) continue;
    if (i == 0) return run.samples[0];
    const double part = (run.loss[i - 1] - loss) / (run.loss[i - 1] - run.loss[i]);
    return run.samples[i - 1] + part * (run.samples[i] - run.samples[i - 1]);
  }
  return std::nullopt;
}

std::optional<LearningWorth> worth_by_noise(const std::vector<Trial>& trials, std::int64_t present,
                                            std::int64_t other, const Interval& rate) {
  const auto found = std::find_if(trials.rbegin(), trials.rend(), [&](const Trial& trial) {
    return trial.ok() && trial.learning.parts > 1 && trial.learning.global_batch == present;
  });
  if (found == trials.rend() || other < present) return std::nullopt;
  LearningWorth worth;
  worth.efficiency = noise_efficiency(found->learning, other);
  if (!(worth.efficiency.median > 0)) return std::nullopt;
  // Ends are bounds here and not errors: they multiply end by end.
  worth.speedup = {rate.median * worth.efficiency.median, rate.low * worth.efficiency.low,
                   rate.high * worth.efficiency.high};
  worth.samples = std::llround(found->learning.points.back().samples);
  worth.noise_samples = noise_scale(found->learning).median;
  return worth;
}

std::optional<LearningWorth> proved_worth(const std::vector<Trial>& trials, std::int64_t present,
                                          std::int64_t other, const Interval& rate) {
  std::map<std::uint64_t, std::pair<const Learning*, const Learning*>> by_seed;  // present, other
  for (const Trial& trial : trials) {
    const Learning& learning = trial.learning;
    // Trials with parts had their gradients watched: they are worth_by_noise()'s.
    if (!trial.ok() || learning.points.empty() || learning.parts > 0) continue;
    if (learning.global_batch == present) by_seed[learning.seed].first = &learning;
    if (learning.global_batch == other) by_seed[learning.seed].second = &learning;
  }
  std::erase_if(by_seed, [](const auto& one) { return !one.second.first || !one.second.second; });
  if (by_seed.size() < kLeastStarts) return std::nullopt;
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& [seed, pair] : by_seed) {
    for (const Learning* run : {pair.first, pair.second}) {
      shortest = std::min(shortest, run->points.back().samples);
    }
  }
  const double window = std::max(kWindowShare * shortest,
                                 kWindowBatches * static_cast<double>(std::max(present, other)));
  LearningWorth worth;
  std::vector<LearningPair> pairs;
  for (const auto& [seed, pair] : by_seed) {
    pairs.push_back({smoothed_loss(*pair.first, window), smoothed_loss(*pair.second, window),
                     pair.first->points.front().loss});
    // All seeds of the other recipe have the same one.
    worth.rate_factor = pair.second->rate_factor;
  }
  worth.proved = true;
  worth.starts = static_cast<int>(pairs.size());
  const auto loss = common_loss(pairs);
  if (!loss) return bounded_worth(pairs, worth, rate);
  std::vector<double> logs, present_samples;
  for (const LearningPair& pair : pairs) {
    const auto before = samples_to(pair.present, *loss);
    const auto after = samples_to(pair.other, *loss);
    if (!before || !after || !(*before > 0) || !(*after > 0)) return std::nullopt;
    logs.push_back(std::log(*before / *after));
    present_samples.push_back(*before);
  }
  worth.efficiency = ratio_of_logs(logs);
  worth.speedup = product(rate, worth.efficiency);
  worth.loss = *loss;
  worth.samples = std::llround(median(present_samples));
  return worth;
}

}  // namespace ocrtune
