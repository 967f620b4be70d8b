#include "tuner/session/verification.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "tuner/session/tune_setup.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

// What a setting's successful trials say: the clean samples, or all where none is clean.
struct Rates {
  std::vector<double> samples;
  std::vector<double> trials;  // the median of each
  int clean = 0, discarded = 0;
  std::string spoilt_by;  // the first reason

  bool all_discarded() const { return clean == 0 && discarded > 0; }
};

Rates rates_of(const std::vector<Trial>& trials, const Knobs& knobs) {
  Rates rates;
  const auto mine = [&](const Trial& trial) { return trial.knobs == knobs && trial.ok(); };
  for (const Trial& trial : trials) {
    for (const Sample& sample : mine(trial) ? trial.samples : std::vector<Sample>()) {
      (sample.clean() ? rates.clean : rates.discarded) += 1;
      if (rates.spoilt_by.empty()) rates.spoilt_by = sample.interference.spoilt_by;
    }
  }
  for (const Trial& trial : trials) {
    if (!mine(trial)) continue;
    std::vector<double> own;
    for (const Sample& sample : trial.samples) {
      if (sample.clean() || rates.clean == 0) own.push_back(sample.samples_per_second);
    }
    if (trial.samples.empty() && trial.samples_per_second > 0) {
      own.push_back(trial.samples_per_second);
    }
    if (own.empty() || median(own) <= 0) continue;
    rates.trials.push_back(median(own));
    rates.samples.insert(rates.samples.end(), own.begin(), own.end());
  }
  return rates;
}

// Sum of squared deviations of the logarithms from their mean.
double log_squares(const std::vector<double>& values) {
  double mean = 0, sum = 0;
  for (double value : values) mean += std::log(value) / static_cast<double>(values.size());
  for (double value : values) sum += (std::log(value) - mean) * (std::log(value) - mean);
  return sum;
}

// 97.5 % point of Student's t: Abramowitz and Stegun 26.7.5, within 1 % from 3 degrees on.
double t_point(double degrees) {
  if (degrees < 1.5) return 12.71;
  if (degrees < 2.5) return 4.30;
  const double z = 1.96;
  return z + (z * z * z + z) / (4 * degrees) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * degrees * degrees);
}

// The ratio of two rates with its 95 % interval, from the spread between trials.
Interval trial_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  const double below = median(b);
  if (a.empty() || b.empty() || below <= 0 || median(a) <= 0) return {};
  const double ratio = median(a) / below;
  const auto degrees = static_cast<double>(a.size() + b.size()) - 2;
  if (degrees < 1) return {ratio, 0, std::numeric_limits<double>::infinity()};
  const double variance = (log_squares(a) + log_squares(b)) / degrees;
  const double error =
      std::sqrt(variance * (1 / static_cast<double>(a.size()) + 1 / static_cast<double>(b.size())));
  const double width = std::exp(t_point(degrees) * error);
  return {ratio, ratio / width, ratio * width};
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

namespace {

struct Compared {
  Rates now, base_now, then, base_then;
  bool same = false;  // baseline and recommendation are one
  Interval gain, base_ratio;
};

Compared compare(const RunRecord& run, const Verification& verification) {
  Compared all;
  all.now = rates_of(verification.trials, verification.recommended);
  all.base_now = rates_of(verification.trials, verification.baseline);
  all.then = rates_of(run.trials, verification.recommended);
  all.base_then = rates_of(run.trials, verification.baseline);
  all.same = verification.baseline == verification.recommended;
  all.gain = trial_ratio(all.now.trials, all.base_now.trials);
  all.base_ratio = trial_ratio(all.base_now.trials, all.base_then.trials);
  return all;
}

double noise_of(const RunRecord& run) {
  constexpr double kUsualNoise = 0.03;
  return run.result.noise > 0 ? run.result.noise : kUsualNoise;
}

void fill_figures(const RunRecord& run, const Compared& all, Verification& verification) {
  const TuneResult& told = run.result;
  const auto figure = [&](const Interval& tuned, const Rates& rates) {
    return tuned.median > 0 ? tuned : rate_interval(rates.trials, noise_of(run));
  };
  verification.rate_now = figure({}, all.now);
  verification.rate_then = figure(told.recommendation.samples_per_second, all.then);
  verification.baseline_now = figure({}, all.base_now);
  verification.baseline_then = figure(told.baseline.samples_per_second, all.base_then);
  verification.gain_now = all.gain;
  verification.gain_then =
      told.gain.median > 0 ? told.gain : trial_ratio(all.then.trials, all.base_then.trials);
  verification.ratio = trial_ratio(all.now.trials, all.then.trials);
  verification.clean_samples = all.now.clean;
  verification.discarded_samples = all.now.discarded;
  verification.limit_bytes = run.options.limit_bytes();
  verification.peak_bytes = 0;
  for (const Trial& trial : verification.trials) {
    if (trial.knobs == verification.recommended) {
      verification.peak_bytes = std::max(verification.peak_bytes, trial.peak_bytes);
    }
  }
  const auto& now = all.now.samples;
  if (!now.empty() && !all.base_now.samples.empty() && !all.same) {
    verification.p_against_baseline = mann_whitney_p(now, all.base_now.samples);
  }
  if (!now.empty() && !all.then.samples.empty()) {
    verification.p_against_then = mann_whitney_p(now, all.then.samples);
  }
}

std::string ratio_text(const Interval& ratio) {
  if (!std::isfinite(ratio.high)) return percent(ratio.median) + ", one trial only";
  return fmt::format("{} ({} .. {})", percent(ratio.median), percent(ratio.low),
                     percent(ratio.high));
}

std::string times_text(const Interval& gain) {
  return fmt::format("{:.2f}x ({:.2f} .. {:.2f})", gain.median, gain.low, gain.high);
}

// What has become of a gain that the tune claimed, where less than half of it is left.
std::string gain_note(const Compared& all, const Verification& verification) {
  const Interval& then = verification.gain_then;
  const Interval& now = all.gain;
  const bool claimed = !all.same && then.low > 1 && now.median > 0 && std::isfinite(now.high);
  if (!claimed || now.median >= 1 + (then.median - 1) / 2) return "";
  return fmt::format("the gain of {} over the baseline is {}: now {}", times_text(then),
                     now.low <= 1 ? "gone" : "less than half of that", times_text(now));
}

// Why the rates cannot settle it; empty when they can.
std::string undecided_reason(const VerifyOptions& options, const Compared& all,
                             const Interval& ratio) {
  if (all.now.samples.empty() || all.then.samples.empty()) {
    return "no trial gave a rate to compare; give more time with --for";
  }
  const bool slow = ratio.low < 1 - 2 * options.tolerance;
  if (all.now.all_discarded() && slow) {
    return fmt::format(
        "all {} samples were spoilt by other load ({}), which also makes a sound "
        "setting slow ({}); verify again when the machine is quiet",
        all.now.discarded, all.now.spoilt_by, ratio_text(ratio));
  }
  const bool off = std::fabs(ratio.median - 1) > options.tolerance;
  if (off || slow) {
    const std::size_t trials = all.now.trials.size();
    return fmt::format(
        "the rate may have changed: {} against the claim of {:.4g} samples/s, but {}{}; give more "
        "time with --for",
        ratio_text(ratio), median(all.then.samples),
        trials == 1 ? "1 trial does not settle it"
                    : fmt::format("{} trials do not settle it", trials),
        all.now.discarded > all.now.clean ? " while other load spoils most samples" : "");
  }
  return "";
}

// Set when the rates prove that the claim no longer holds.
std::string drift_reason(const VerifyOptions& options, const Compared& all,
                         const Verification& verification) {
  const Interval& ratio = verification.ratio;
  if (!all.same && all.gain.median > 0 && all.gain.high < 1 &&
      verification.p_against_baseline < options.significance) {
    return fmt::format("the recommended setting is now slower than the baseline: {}",
                       ratio_text(all.gain));
  }
  if (!verification.gain_note.empty() && all.gain.low <= 1 &&
      all.gain.high < verification.gain_then.low) {
    return verification.gain_note;
  }
  const bool excluded = ratio.low > 1 || (ratio.median > 0 && ratio.high < 1);
  const bool slower_by_load = all.now.all_discarded() && ratio.median < 1;
  if (std::fabs(ratio.median - 1) <= options.tolerance || !excluded || slower_by_load ||
      verification.p_against_then >= options.significance) {
    return "";
  }
  const bool both = !all.same && all.base_ratio.median > 0 &&
                    std::fabs(all.base_ratio.median - ratio.median) < options.tolerance;
  return fmt::format(
      "the recommended setting gives {:.4g} samples/s, {} against the claim of "
      "{:.4g}{}",
      median(all.now.samples), ratio_text(ratio), median(all.then.samples),
      both ? "; the baseline changed alike, so it is the machine" : "");
}

}  // namespace

void judge_verification(const RunRecord& run, const VerifyOptions& options,
                        Verification& verification) {
  const Compared all = compare(run, verification);
  fill_figures(run, all, verification);
  verification.gain_note = gain_note(all, verification);
  verification.reason = danger(run, verification);
  if (!verification.reason.empty()) {
    verification.state = VerifyState::unsafe;
    return;
  }
  verification.reason = drift_reason(options, all, verification);
  if (!verification.reason.empty()) {
    verification.state = VerifyState::drift;
    return;
  }
  verification.reason = undecided_reason(options, all, verification.ratio);
  if (!verification.reason.empty()) {
    verification.state = VerifyState::undecided;
    return;
  }
  verification.state = VerifyState::ok;
  verification.reason =
      fmt::format("{:.4g} samples/s, {} against the claim{}{}", median(all.now.samples),
                  ratio_text(verification.ratio),
                  all.same || all.gain.median <= 0
                      ? std::string()
                      : fmt::format(", {:.2f} times the baseline", all.gain.median),
                  all.now.all_discarded() ? "; although other load spoilt all samples" : "");
}

Verification verify(const RunRecord& run, Runner& runner, Clock& clock,
                    const VerifyOptions& options,
                    const std::function<void(const Trial&)>& on_trial) {
  Verification verification;
  verification.baseline = run.options.baseline;
  verification.recommended = run.result.recommendation.knobs;
  const TrialLimits limits = trial_limits(run.options);
  const bool same = verification.baseline == verification.recommended;
  const double started = clock.now_seconds();
  double longest = 0;
  // Recommended first, then in the order ABBA, so that a drift of the machine hits both alike.
  for (int i = 0; !interrupted(); ++i) {
    const double begun = clock.now_seconds();
    const bool enough = i >= (same ? 1 : 2) * options.min_trials;
    const double after = begun - started + longest;
    if (enough && after > options.seconds) {
      judge_verification(run, options, verification);
      const bool open =
          verification.state == VerifyState::undecided && verification.ratio.median > 0;
      if (!open || after > 2 * options.seconds) break;
    }
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
