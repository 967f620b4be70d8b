#include "tuner/verification.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/text.h"

namespace ocrtune {
namespace {

using Rates = std::vector<double>;

// Rates of the clean samples of a setting's successful trials; of all samples where none is clean.
Rates rates_of(const std::vector<Trial>& trials, const Knobs& knobs) {
  Rates clean, all;
  for (const Trial& trial : trials) {
    if (!(trial.knobs == knobs) || !trial.ok()) continue;
    for (const Sample& sample : trial.samples) {
      all.push_back(sample.samples_per_second);
      if (sample.clean()) clean.push_back(sample.samples_per_second);
    }
    if (trial.samples.empty() && trial.samples_per_second > 0) {
      all.push_back(trial.samples_per_second);
    }
  }
  return clean.empty() ? all : clean;
}

double median_ratio(const Rates& a, const Rates& b) {
  const double below = median(b);
  return below > 0 ? median(a) / below : 0;
}

std::string percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

// The first failure of the recommended setting, or memory beyond its limit, in words.
std::string danger(const RunRecord& run, const Verification& verification) {
  for (const Trial& trial : verification.trials) {
    if (!(trial.knobs == verification.recommended) || trial.ok()) continue;
    if (trial.outcome == Outcome::skipped) continue;
    return fmt::format("the recommended setting failed: {}{}", outcome_name(trial.outcome),
                       trial.reason.empty() ? "" : ", " + trial.reason);
  }
  const double usable =
      static_cast<double>(verification.limit_bytes) * (1 - run.options.memory_margin);
  if (verification.limit_bytes > 0 && static_cast<double>(verification.peak_bytes) > usable) {
    return fmt::format("the recommended setting took {} of {}, more than leaves the margin of {}",
                       format_bytes(verification.peak_bytes),
                       format_bytes(verification.limit_bytes),
                       format_percent(run.options.memory_margin));
  }
  return "";
}

}  // namespace

std::string_view verify_state_name(VerifyState state) {
  constexpr std::string_view kNames[] = {"OK", "DRIFT", "UNSAFE", "UNDECIDED", "INTERRUPTED"};
  return kNames[static_cast<std::size_t>(state)];
}

void judge_verification(const RunRecord& run, const VerifyOptions& options,
                        Verification& verification) {
  const Rates now = rates_of(verification.trials, verification.recommended);
  const Rates base_now = rates_of(verification.trials, verification.baseline);
  const Rates then = rates_of(run.trials, verification.recommended);
  const Rates base_then = rates_of(run.trials, verification.baseline);
  verification.rate_now = bootstrap_median(now);
  verification.rate_then = bootstrap_median(then);
  verification.baseline_now = bootstrap_median(base_now);
  verification.baseline_then = bootstrap_median(base_then);
  verification.limit_bytes = run.options.memory_limit_bytes;
  for (const Trial& trial : verification.trials) {
    if (trial.knobs == verification.recommended) {
      verification.peak_bytes = std::max(verification.peak_bytes, trial.peak_bytes);
    }
  }
  const bool same = verification.baseline == verification.recommended;
  if (!now.empty() && !base_now.empty()) verification.gain_now = bootstrap_ratio(now, base_now);
  if (!then.empty() && !base_then.empty())
    verification.gain_then = bootstrap_ratio(then, base_then);
  if (!now.empty() && !then.empty()) verification.p_against_then = mann_whitney_p(now, then);
  if (!now.empty() && !base_now.empty() && !same) {
    verification.p_against_baseline = mann_whitney_p(now, base_now);
  }

  verification.reason = danger(run, verification);
  if (!verification.reason.empty()) {
    verification.state = VerifyState::unsafe;
    return;
  }
  if (now.empty() || then.empty()) {
    verification.state = VerifyState::undecided;
    verification.reason = "no trial gave a rate to compare; give more time with --for";
    return;
  }
  const double ratio = median_ratio(now, then);
  const double gain = base_now.empty() ? 0 : median_ratio(now, base_now);
  verification.state = VerifyState::drift;
  if (!same && gain > 0 && gain < 1 && verification.p_against_baseline < options.significance) {
    verification.reason =
        fmt::format("the recommended setting is now slower than the baseline ({})", percent(gain));
  } else if (std::fabs(ratio - 1) > options.tolerance &&
             verification.p_against_then < options.significance) {
    const bool both = !base_now.empty() && !base_then.empty() &&
                      std::fabs(median_ratio(base_now, base_then) - ratio) < options.tolerance;
    verification.reason = fmt::format(
        "the recommended setting gives {:.4g} samples/s, {} against the claim of {:.4g}{}",
        median(now), percent(ratio), median(then),
        both && !same ? "; the baseline changed alike, so it is the machine" : "");
  } else {
    verification.state = VerifyState::ok;
    verification.reason = fmt::format(
        "{:.4g} samples/s, {} against the claim{}", median(now), percent(ratio),
        same || gain <= 0 ? std::string() : fmt::format(", {:.2f} times the baseline", gain));
  }
}

Verification verify(const RunRecord& run, Runner& runner, Clock& clock,
                    const VerifyOptions& options,
                    const std::function<void(const Trial&)>& on_trial) {
  Verification verification;
  verification.baseline = run.options.baseline;
  verification.recommended = run.result.recommendation.knobs;
  TrialLimits limits;
  limits.measure_seconds = run.options.trial_seconds;
  limits.most_seconds = std::max(30.0, 10 * run.options.trial_seconds);
  limits.memory_limit_bytes = run.options.memory_limit_bytes;
  const bool same = verification.baseline == verification.recommended;
  const double started = clock.now_seconds();
  double longest = 0;
  // Recommended first, then in the order ABBA, so that a drift of the machine hits both alike.
  for (int i = 0; !interrupted(); ++i) {
    const double begun = clock.now_seconds();
    const bool enough = i >= (same ? 1 : 2) * options.least_trials;
    if (enough && begun - started + longest > options.seconds) break;
    const bool recommended = same || i % 4 == 0 || i % 4 == 3;
    Trial trial =
        runner.run(recommended ? verification.recommended : verification.baseline, limits);
    trial.phase = "verify";
    longest = std::max(longest, clock.now_seconds() - begun);
    if (on_trial) on_trial(trial);
    verification.trials.push_back(std::move(trial));
    const Trial& last = verification.trials.back();
    // A danger is settled by one look; the deployment does not need the rest of the time.
    if (recommended && !last.ok() && last.outcome != Outcome::skipped) break;
  }
  verification.seconds = clock.now_seconds() - started;
  judge_verification(run, options, verification);
  if (interrupted()) verification.state = VerifyState::interrupted;
  return verification;
}

}  // namespace ocrtune
