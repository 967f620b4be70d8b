// Rules see the windows that nothing disturbed; only the total time counts all of them. Slow
// windows come first: a rate that leaves a checkpoint out would be too high for an hour.
#include "trial/watch/stopping.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/stats.h"

namespace ocrtune {

void StoppingRule::add(const Sample& sample) {
  all_seconds_ += sample.seconds;
  if (!sample.clean()) return;
  clean_seconds_ += sample.seconds;
  clean_.push_back({sample.samples, sample.seconds});
}

// A first slow window may come again within the time that few valid ones would be given; one that
// came again sets the pace, and is given half a period more than it asks for.
bool StoppingRule::awaits_slow_window() const {
  constexpr double kPatience = 1.5;  // periods
  const SlowWindows slow = find_slow_windows(clean_);
  if (slow.episodes == 0 || slow.recur()) return false;
  const double most = options_.period_factor * options_.measure_seconds;
  if (slow.episodes == 1)
    return all_seconds_ < std::min(most, options_.max_factor * options_.measure_seconds);
  double now = 0;
  for (const Window& window : clean_) now += window.seconds;
  return all_seconds_ < most && now - slow.last_seconds < kPatience * slow.period_seconds;
}

std::optional<std::string> StoppingRule::reason() const {
  const bool enough = static_cast<int>(clean_.size()) >= options_.min_samples;
  if (enough && clean_seconds_ >= options_.measure_seconds / 2 && awaits_slow_window()) {
    return std::nullopt;
  }
  if (enough && clean_seconds_ >= options_.measure_seconds) {
    return fmt::format("measured {:.1f} s", clean_seconds_);
  }
  if (enough && clean_seconds_ >= options_.measure_seconds / 2) {
    std::vector<double> rates;
    for (const Window& window : clean_) rates.push_back(window.samples_per_second());
    // A fixed seed and 200 resamples: it is asked after each window, and repeats must agree.
    const Interval interval = bootstrap_median(rates, 0.95, 1, 200);
    if (interval.high - interval.low <= 2 * options_.interval_share * interval.median) {
      return fmt::format("interval within {:.0f} %", 100 * options_.interval_share);
    }
  }
  if (all_seconds_ >= options_.max_factor * options_.measure_seconds) {
    return fmt::format("stretched to {:.1f} s: too few valid windows", all_seconds_);
  }
  return std::nullopt;
}

std::optional<std::string> hung_reason(const SilenceRule& rule, double silent_seconds,
                                       double cpu_seconds, double expected_step_seconds,
                                       bool started) {
  const bool busy = cpu_seconds > rule.busy_share * silent_seconds;
  double limit = std::max(rule.min_seconds, rule.step_factor * expected_step_seconds);
  if (!started) limit = std::max(limit, rule.start_seconds);
  if (busy) limit *= rule.busy_factor;
  if (silent_seconds <= limit) return std::nullopt;
  return fmt::format("silent for {:.0f} s (limit {:.0f} s) while {}", silent_seconds, limit,
                     busy ? fmt::format("using {:.2f} CPUs", cpu_seconds / silent_seconds)
                          : std::string("using no CPU"));
}

}  // namespace ocrtune
