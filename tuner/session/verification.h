// Does a stored recommendation still hold here and now? Baseline and recommendation measured again,
// interleaved, and judged.
//
// UNSAFE: the recommended setting fails, or takes more memory than the limit less the margin.
// DRIFT: it is no longer faster than the baseline, or gains less than was claimed, or its rate is
// not the one that was claimed. UNDECIDED: the samples do not settle it, and the reason says why;
// for as long as that is so the measuring goes on, up to twice the given time.
//
// What was claimed is the run's own answer; what is measured now comes from the same fit of trials
// (tuner/verdict/rate_fit.h), baseline and recommendation paired in time. OK is said only where the
// interval of the ratio excludes a loss of twice the tolerance: no news is not good news.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/stats.h"
#include "trial/runner.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

enum class VerifyState { ok, drift, unsafe, undecided, interrupted };

struct VerifyOptions {
  double seconds = 60;
  double tolerance = 0.1;         // share of the rate
  int min_trials = 2;             // of each setting, even when the time is up
  std::uint64_t limit_bytes = 0;  // of this machine's memory now; 0: as it was for the run
};

struct Verification {
  VerifyState state = VerifyState::undecided;
  std::string reason;  // a sentence
  Knobs baseline, recommended;
  std::vector<Trial> trials;             // phase "verify", in the order in which they ran
  Interval rate_then, rate_now;          // of the recommended setting
  Interval baseline_then, baseline_now;  // zero when it never worked
  Interval gain_then, gain_now;          // recommended / baseline
  Interval ratio;                        // of the recommended rate, now / then, over trials
  double p_against_then = 1, p_against_baseline = 1;  // of differences by chance alone
  int clean_samples = 0, discarded_samples = 0;       // of the recommended setting, now
  std::uint64_t peak_bytes = 0, limit_bytes = 0;
  std::uint64_t possible_peak_bytes = 0;  // between two readings
  double seconds = 0;
};

// `run` was judged (tuner/session/tune_setup.h) and has a recommendation.
Verification measure_again(const RunRecord& run, Runner& runner, Clock& clock,
                           const VerifyOptions& options,
                           const std::function<void(const Trial&)>& on_trial);

// Fills state, reason and the figures from `trials`: the pure part.
void judge_verification(const RunRecord& run, const VerifyOptions& options,
                        Verification& verification);

std::string_view verify_state_name(VerifyState state);  // "OK", "DRIFT", "UNSAFE", ...

}  // namespace ocrtune
