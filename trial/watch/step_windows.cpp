// The trial's time is cut by steps and never by the clock of the watch: a window closes with the
// step that fills it for the last rank. Rates of ranks are added, times averaged.
#include "trial/watch/step_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"

namespace ocrtune {
namespace {

void add_times(StepTimes& total, const StepTimes& times, double factor) {
  total.data_seconds += factor * times.data_seconds;
  total.compute_seconds += factor * times.compute_seconds;
  total.all_reduce_seconds += factor * times.all_reduce_seconds;
  total.wait_seconds += factor * times.wait_seconds;
}

}  // namespace

StepWindows::StepWindows(int ranks, double window_seconds)
    : ranks_(static_cast<std::size_t>(std::max(1, ranks))), window_seconds_(window_seconds) {}

void StepWindows::restart() { std::fill(ranks_.begin(), ranks_.end(), Share()); }

std::optional<Sample> StepWindows::add(const StepEvent& step) {
  if (step.rank < 0 || static_cast<std::size_t>(step.rank) >= ranks_.size()) return std::nullopt;
  Share& share = ranks_[static_cast<std::size_t>(step.rank)];
  share.steps += step.steps;
  share.samples += step.samples;
  share.seconds += step.seconds;
  add_times(share.total, step.times, static_cast<double>(step.steps));
  const bool full = std::all_of(ranks_.begin(), ranks_.end(), [&](const Share& rank) {
    return rank.steps > 0 && rank.seconds >= window_seconds_;
  });
  if (!full) return std::nullopt;
  const Sample sample = close();
  restart();
  return sample;
}

Sample StepWindows::close() const {
  Sample sample;
  const double ranks = static_cast<double>(ranks_.size());
  for (const Share& share : ranks_) {
    sample.seconds += share.seconds / ranks;
    add_times(sample.step, share.total, 1 / (ranks * static_cast<double>(share.steps)));
  }
  // In the mean time of all: rates are added.
  for (const Share& share : ranks_) {
    sample.samples += static_cast<double>(share.samples) * (sample.seconds / share.seconds);
  }
  sample.steps = ranks_[0].steps;
  return sample;
}

double window_seconds(double measure_seconds) {
  // Eight windows for a measurement; both bounds are guesses.
  constexpr double kMinSeconds = 0.1, kMaxSeconds = 2.0;
  return std::clamp(measure_seconds / 8, kMinSeconds, kMaxSeconds);
}

Sample merged(const std::vector<Sample>& windows) {
  if (windows.size() == 1) return windows[0];
  Sample whole;
  for (const Sample& window : windows) {
    whole.samples += window.samples;
    whole.seconds += window.seconds;
    whole.steps += window.steps;
    add_times(whole.step, window.step, static_cast<double>(window.steps));
  }
  StepTimes mean;
  add_times(mean, whole.step, 1 / static_cast<double>(std::max<std::int64_t>(1, whole.steps)));
  whole.step = mean;
  return whole;
}

void leave_out_warm_up(Trial& trial) {
  constexpr std::size_t kLeast = 4;
  // 1.4826 makes the median distance a standard deviation where the rates are normal.
  constexpr double kDeviations = 3, kOfNormal = 1.4826, kShare = 0.02;
  std::vector<double> rates, distances;
  for (std::size_t i = 1; i < trial.samples.size(); ++i) {
    if (trial.samples[i].clean()) rates.push_back(trial.samples[i].samples_per_second());
  }
  if (rates.size() < kLeast || !trial.samples[0].clean()) return;
  const double usual = median(rates);
  for (const double rate : rates) distances.push_back(std::fabs(rate - usual));
  const double first = trial.samples[0].samples_per_second();
  const double deviation = kOfNormal * median(distances);
  if (std::fabs(first - usual) <= std::max(kDeviations * deviation, kShare * usual)) return;
  trial.evidence.push_back(fmt::format("left out as warm-up: the first {} at {} samples/s, then {}",
                                       format_duration(trial.samples[0].seconds),
                                       format_count(first), format_count(usual)));
  trial.samples.erase(trial.samples.begin());
}

void weigh_shares(const std::map<int, RankShare>& shares, int ranks, Trial& trial) {
  double slowest = std::numeric_limits<double>::infinity(), sum = 0;
  for (const auto& [rank, share] : shares) {
    slowest = std::min(slowest, share.samples / share.seconds);
    sum += share.samples / share.seconds;
  }
  if (static_cast<int>(shares.size()) < ranks || sum <= 0) return;
  // All ranks wait for the slowest at the end, so the whole goes at its pace.
  const double balance = ranks * slowest / sum;
  for (Sample& sample : trial.samples) sample.samples *= balance;
  trial.evidence.push_back(
      fmt::format("own shares: the slowest process has {:.1f} % of the mean speed, so the whole "
                  "goes at that",
                  100 * balance));
}

}  // namespace ocrtune
