#include "trial/watch/step_windows.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

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
    sample.samples_per_second += static_cast<double>(share.samples) / share.seconds;
    sample.seconds += share.seconds / ranks;
    add_times(sample.step, share.total, 1 / (ranks * static_cast<double>(share.steps)));
  }
  sample.steps = ranks_[0].steps;
  return sample;
}

double window_seconds(double measure_seconds) {
  constexpr double kMinSeconds = 0.1, kMaxSeconds = 2.0;
  return std::clamp(measure_seconds / 8, kMinSeconds, kMaxSeconds);
}

Sample merged(const std::vector<Sample>& windows) {
  if (windows.size() == 1) return windows[0];
  Sample whole;
  double samples = 0;
  for (const Sample& window : windows) {
    samples += window.samples_per_second * window.seconds;
    whole.seconds += window.seconds;
    whole.steps += window.steps;
    add_times(whole.step, window.step, static_cast<double>(window.steps));
  }
  whole.samples_per_second = samples / whole.seconds;
  StepTimes mean;
  add_times(mean, whole.step, 1 / static_cast<double>(std::max<std::int64_t>(1, whole.steps)));
  whole.step = mean;
  return whole;
}

void weigh_shares(const std::map<int, RankShare>& shares, int ranks, Trial& trial) {
  double slowest = std::numeric_limits<double>::infinity(), sum = 0;
  for (const auto& [rank, share] : shares) {
    slowest = std::min(slowest, share.samples / share.seconds);
    sum += share.samples / share.seconds;
  }
  if (static_cast<int>(shares.size()) < ranks || sum <= 0) return;
  const double balance = ranks * slowest / sum;
  for (Sample& sample : trial.samples) sample.samples_per_second *= balance;
  trial.evidence.push_back(
      fmt::format("own shares: the slowest process has {:.1f} % of the mean speed, so the whole "
                  "goes at that",
                  100 * balance));
}

}  // namespace ocrtune
