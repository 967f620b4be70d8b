// The states are tried from the gravest on: UNSAFE, DRIFT, open memory, UNDECIDED, OK. Rates of
// both settings come from one fit of the new trials; the claim is the stored run's own.
#include "tuner/session/verification.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/normal.h"
#include "base/text.h"
#include "tuner/job/job_workload.h"
#include "tuner/models/long_look.h"
#include "tuner/models/repeats.h"
#include "tuner/session/tune_setup.h"
#include "tuner/verdict/beside_load.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

// What a setting's successful trials say.
struct Rates {
  std::vector<double> trials;  // as they were, in order
  Interval undisturbed;        // all zero: no trial worked
  int clean = 0, discarded = 0;
  std::string spoilt_by;  // the first reason

  bool all_discarded() const { return clean == 0 && discarded > 0; }
  bool known() const { return undisturbed.median > 0; }
};

Rates rates_of(const std::vector<Trial>& trials, const std::vector<Setting>& settings,
               const Knobs& knobs) {
  Rates rates;
  for (const Trial& trial : trials) {
    if (!(trial.knobs == knobs) || !trial.ok()) continue;
    std::vector<double> seen;
    for (const Sample& sample : trial.samples) {
      (sample.clean() ? rates.clean : rates.discarded) += 1;
      if (rates.spoilt_by.empty()) rates.spoilt_by = sample.interference.spoilt_by;
      seen.push_back(sample.samples_per_second());
    }
    rates.trials.push_back(seen.empty() ? trial.samples_per_second : median(seen));
  }
  const Setting* setting = find_setting(settings, knobs);
  if (setting != nullptr) rates.undisturbed = setting->mean_rate;
  return rates;
}

std::string percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

bool is_beyond(std::uint64_t bytes, const RunRecord& run, const Verification& verification) {
  const double usable =
      static_cast<double>(verification.limit_bytes) * (1 - run.search.memory_margin);
  return verification.limit_bytes > 0 && static_cast<double>(bytes) > usable;
}

// That it may have held too much between two readings, which the claim did not say.
std::string open_memory(const RunRecord& run, const Verification& verification) {
  if (!is_beyond(verification.possible_peak_bytes, run, verification)) return "";
  // The claim itself left it open: that it is still open is no news.
  if (run.result.verdict.safety.state == SafetyState::unsure) return "";
  return fmt::format(
      "the recommended setting took {} and may have held {} between two readings, of {}",
      format_bytes(verification.peak_bytes), format_bytes(verification.possible_peak_bytes),
      format_bytes(verification.limit_bytes));
}

// The first failure of the recommended setting, or memory beyond its limit, in words.
std::string danger(const RunRecord& run, const Verification& verification) {
  for (const Trial& trial : verification.trials) {
    if (!(trial.knobs == verification.recommended) || trial.ok()) continue;
    if (trial.outcome == Outcome::skipped) continue;
    return fmt::format("the recommended setting failed: {}{}", outcome_name(trial.outcome),
                       trial.reason.empty() ? "" : ", " + trial.reason);
  }
  if (is_beyond(verification.peak_bytes, run, verification)) {
    return fmt::format("the recommended setting took {} of {}, more than leaves the margin of {}",
                       format_bytes(verification.peak_bytes),
                       format_bytes(verification.limit_bytes),
                       format_percent(run.search.memory_margin));
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
  Rates now, base_now;
  Interval then, base_then, gain_then;  // as the run claims them
  bool same = false;                    // baseline and recommendation are one
  bool loaded = false;                  // one of the two had no window without other load
  bool claimed_so = false;              // the claim is of a loaded host, too
  const char* unit = "";                // of the rates
  Interval gain, base_ratio;
};

// The gain is of what the run was tuned for.
Interval gain_of(const RunRecord& run, const Verification& verification,
                 const std::vector<Trial>& trials, double noise) {
  const std::vector<Setting> settings = settings_of(trials, noise, run.search.objective);
  const Setting* recommended = find_setting(settings, verification.recommended);
  const Setting* baseline = find_setting(settings, verification.baseline);
  if (recommended == nullptr || baseline == nullptr) return {};
  return ratio_interval(*recommended, *baseline);
}

// The claims are the run's own; a run that was not judged speaks through its trials.
void claim(const RunRecord& run, const Verification& verification, double noise, Compared& all) {
  const std::vector<Setting> settings = settings_of(run.trials, noise);
  const Setting* recommended = find_setting(settings, verification.recommended);
  const Setting* baseline = find_setting(settings, verification.baseline);
  all.then = run.result.recommendation.samples_per_second;
  all.base_then = run.result.baseline.samples_per_second;
  all.gain_then = run.result.gain;
  if (all.then.median <= 0 && recommended != nullptr) all.then = recommended->mean_rate;
  if (all.base_then.median <= 0 && baseline != nullptr) all.base_then = baseline->mean_rate;
  if (all.gain_then.median <= 0) all.gain_then = gain_of(run, verification, run.trials, noise);
}

bool no_window_is_clean(const std::vector<Trial>& trials, const Knobs& knobs) {
  int discarded = 0;
  for (const Trial& trial : trials) {
    if (!(trial.knobs == knobs) || !trial.ok()) continue;
    for (const Sample& sample : trial.samples) {
      if (sample.clean()) return false;
      ++discarded;
    }
  }
  return discarded > 0;
}

Compared compare(const RunRecord& run, const Verification& verification) {
  std::vector<Trial> both = by_long_look(run.trials, long_look(run.trials));
  // The noise is pooled over then and now: a verification alone has few repeats.
  both.insert(both.end(), verification.trials.begin(), verification.trials.end());
  const double noise = repeat_noise(both, kExpectedNoise);
  Compared all;
  std::vector<Trial> trials = verification.trials;
  all.loaded = no_window_is_clean(trials, verification.recommended) ||
               no_window_is_clean(trials, verification.baseline);
  all.claimed_so = run.result.verdict.beside_load;
  // The two took turns beside the same load: their rates and their ratio are as they were measured.
  if (all.loaded) trials = as_measured(trials);
  const double measured = all.loaded ? std::max(noise, measured_noise(trials)) : noise;
  const std::vector<Setting> settings = settings_of(trials, measured);
  all.now = rates_of(verification.trials, settings, verification.recommended);
  all.base_now = rates_of(verification.trials, settings, verification.baseline);
  all.same = verification.baseline == verification.recommended;
  all.unit = rate_name(workload_of(run.job, run.search)->unit());
  claim(run, verification, noise, all);
  all.gain = gain_of(run, verification, trials, measured);
  all.base_ratio = ratio_interval(all.base_now.undisturbed, all.base_then);
  return all;
}

// A limit that was typed for the run holds here too, unless this machine has less.
std::uint64_t limit_now(const RunRecord& run, const VerifyOptions& options) {
  const std::uint64_t then = limit_bytes(run.job, run.search);
  if (run.job.on_gpus() || options.limit_bytes == 0) return then;
  return then == 0 ? options.limit_bytes : std::min(then, options.limit_bytes);
}

void fill_figures(const RunRecord& run, const Compared& all, const VerifyOptions& options,
                  Verification& verification) {
  verification.rate_now = all.now.undisturbed;
  verification.rate_then = all.then;
  verification.baseline_now = all.base_now.undisturbed;
  verification.baseline_then = all.base_then;
  verification.gain_now = all.gain;
  verification.gain_then = all.gain_then;
  verification.ratio = ratio_interval(all.now.undisturbed, all.then);
  verification.p_against_then = p_of_no_change(verification.ratio);
  verification.p_against_baseline = all.same ? 1 : p_of_no_change(all.gain);
  verification.clean_samples = all.now.clean;
  verification.discarded_samples = all.now.discarded;
  verification.limit_bytes = limit_now(run, options);
  verification.peak_bytes = verification.possible_peak_bytes = 0;
  for (const Trial& trial : verification.trials) {
    if (!(trial.knobs == verification.recommended)) continue;
    verification.peak_bytes = std::max(verification.peak_bytes, trial.peak_bytes);
    if (run.job.on_gpus()) continue;
    verification.possible_peak_bytes =
        std::max(verification.possible_peak_bytes, trial.possible_peak_bytes);
  }
}

std::string ratio_text(const Interval& ratio) {
  return fmt::format("{} ({} .. {})", percent(ratio.median), percent(ratio.low),
                     percent(ratio.high));
}

std::string gain_text(const Interval& gain) {
  return fmt::format("{:.2f} ({:.2f} .. {:.2f})", gain.median, gain.low, gain.high);
}

// What of the gain is left, beside the claim; empty where there is nothing to compare.
std::string gain_words(const Compared& all) {
  if (all.same || all.gain.median <= 0) return "";
  return fmt::format(", {} times the baseline{}", gain_text(all.gain),
                     all.gain_then.median > 0
                         ? fmt::format(" ({:.2f} was claimed)", all.gain_then.median)
                         : std::string());
}

// Whether it is less than was claimed, and by no load that the claim was free of.
bool gain_counts(const Compared& all) {
  return !all.same && all.gain.median > 0 && (!all.loaded || all.claimed_so);
}

bool gain_is_lost(const Compared& all, double tolerance) {
  return all.gain.high < all.gain_then.low &&
         all.gain.median < (1 - tolerance) * all.gain_then.median;
}

// Why the rates cannot settle it; empty when they can.
std::string undecided_reason(const VerifyOptions& options, const Compared& all,
                             const Interval& ratio) {
  if (!all.now.known() || all.then.median <= 0) {
    return "no trial gave a rate to compare; give more time with --budget";
  }
  const std::size_t trials = all.now.trials.size();
  if (trials < 2) {
    return fmt::format("{}, but 1 trial does not settle it; give more time with --budget",
                       ratio_text(ratio));
  }
  if (!all.same && all.gain.median > 0 && !gain_counts(all) &&
      gain_is_lost(all, options.tolerance)) {
    return fmt::format(
        "beside this load, which spoils all windows, the recommended setting makes {} times the "
        "baseline, where {} was claimed without it; verify again when the machine is quiet",
        gain_text(all.gain), gain_text(all.gain_then));
  }
  // A loss of twice the tolerance is not excluded.
  const bool slow = ratio.low < 1 - 2 * options.tolerance;
  // Other load only slows: a rate that is as good in spite of it needs no better proof.
  const bool good_as_it_is = median(all.now.trials) >= (1 - options.tolerance) * all.then.median;
  if (all.now.all_discarded() && slow && !good_as_it_is) {
    return fmt::format(
        "all {} windows were discarded for other load ({}), which also makes a sound "
        "setting slow ({}); verify again when the machine is quiet",
        all.now.discarded, all.now.spoilt_by, ratio_text(ratio));
  }
  const bool off = std::fabs(ratio.median - 1) > options.tolerance;
  if ((off || slow) && !(all.now.all_discarded() && good_as_it_is)) {
    return fmt::format(
        "the rate may have changed: {} against the claim of {} {}{}, but {} trials do not settle "
        "it{}; give more time with --budget",
        ratio_text(ratio), format_count(all.then.median), all.unit, gain_words(all), trials,
        all.now.discarded > all.now.clean ? " while other load spoils most samples" : "");
  }
  return "";
}

// Set when the rates prove that the claim no longer holds.
std::string drift_reason(const VerifyOptions& options, const Compared& all,
                         const Verification& verification) {
  const Interval& ratio = verification.ratio;
  // Where the claim itself allowed a loss, a loss is no drift.
  const bool faster_then = all.gain_then.median <= 0 || all.gain_then.low >= 1;
  if (gain_counts(all) && all.gain.high < 1 && faster_then) {
    return fmt::format("the recommended setting is now slower than the baseline: {}",
                       ratio_text(all.gain));
  }
  if (gain_counts(all) && gain_is_lost(all, options.tolerance)) {
    return fmt::format("the gain over the baseline is {} where {} was claimed", gain_text(all.gain),
                       gain_text(all.gain_then));
  }
  const bool excluded = ratio.low > 1 || (ratio.median > 0 && ratio.high < 1);
  // No window was quiet: the load may be the reason.
  const bool slower_by_load = all.now.all_discarded() && ratio.median < 1;
  if (std::fabs(ratio.median - 1) <= options.tolerance || !excluded || slower_by_load) return "";
  const bool both = !all.same && all.base_ratio.median > 0 &&
                    std::fabs(all.base_ratio.median - ratio.median) < options.tolerance;
  return fmt::format("the recommended setting gives {} {}, {} against the claim of {}{}{}",
                     format_count(all.now.undisturbed.median), all.unit, ratio_text(ratio),
                     format_count(all.then.median), gain_words(all),
                     both ? "; the baseline changed alike, so it is the machine" : "");
}

}  // namespace

void judge_verification(const RunRecord& run, const VerifyOptions& options,
                        Verification& verification) {
  const Compared all = compare(run, verification);
  fill_figures(run, all, options, verification);
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
  verification.reason = open_memory(run, verification);
  if (verification.reason.empty()) {
    verification.reason = undecided_reason(options, all, verification.ratio);
  }
  if (!verification.reason.empty()) {
    verification.state = VerifyState::undecided;
    return;
  }
  verification.state = VerifyState::ok;
  verification.reason = fmt::format(
      "{} {}, {} against the claim{}{}", format_count(all.now.undisturbed.median), all.unit,
      ratio_text(verification.ratio), gain_words(all),
      all.now.all_discarded() ? "; although all windows were discarded for other load" : "");
}

Verification measure_again(const RunRecord& run, Runner& runner, Clock& clock,
                           const VerifyOptions& options,
                           const std::function<void(const Trial&)>& on_trial) {
  Verification verification;
  verification.baseline = run.search.baseline;
  verification.recommended = run.result.recommendation.knobs;
  TrialLimits limits = trial_limits(run.job, run.search);
  const LongLook look = long_look(run.trials);
  if (look.changes()) {  // the claim is of the later half of such a trial
    limits.max_seconds += look.seconds - limits.measure_seconds;
    limits.measure_seconds = look.seconds;
  }
  if (!run.job.on_gpus()) limits.memory_limit_bytes = limit_now(run, options);
  const bool same = verification.baseline == verification.recommended;
  const double started = clock.now_seconds();
  double longest = 0;
  // Recommended first, then in the order ABBA, so that a drift of the machine hits both alike.
  for (int i = 0; !interrupted(); ++i) {
    const double begun = clock.now_seconds();
    const bool enough = i >= (same ? 1 : 2) * options.min_trials;
    // A trial more would end then.
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
    trial.knobs = recommended ? verification.recommended : verification.baseline;
    trial.round = i / 2 + 1;
    longest = std::max(longest, clock.now_seconds() - begun);
    if (look.changes() && trial.ok()) trial = later_half(std::move(trial));
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
