// When a trial has measured enough, and when silence means that it hangs. Both see only numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trial/observe/slow_windows.h"
#include "trial/trial.h"

namespace ocrtune {

struct StoppingOptions {
  double measure_seconds = 1.5;  // the aim, warm-up not counted
  int min_samples = 5;           // clean ones, before anything else may end the trial
  double interval_share = 0.01;  // half-width of the median's interval / median that is enough
  double max_factor = 2;         // discarded or few samples stretch the trial to this times the aim
  double period_factor = 4;      // slow windows that recur stretch it to this times the aim
};

class StoppingRule {
 public:
  explicit StoppingRule(const StoppingOptions& options) : options_(options) {}

  void add(const Sample& sample);
  // Why to stop now, in words; empty: go on. Rules, in order: "measured 1.5 s", "interval within
  // 1 %" (not before half of the aim), "stretched to 4.5 s: too few valid windows". A slow window
  // is waited for once more, and one that came twice a third time: two whole periods.
  std::optional<std::string> reason() const;

 private:
  bool awaits_slow_window() const;

  StoppingOptions options_;
  std::vector<Window> clean_;
  double clean_seconds_ = 0;
  double all_seconds_ = 0;
};

// Silence is judged against the expected step, and against whether anything still computes: a
// futex wait burns nothing, a slow step or a compiler does. Source of 10 s and 5x: the aim to see a
// hang within max(10 s, 5 steps) without killing a trial that only stutters.
struct SilenceRule {
  double min_seconds = 10;
  double step_factor = 5;
  double busy_factor = 4;    // who computes without a word gets this times the limit
  double busy_share = 0.05;  // of one CPU over the silence: above it the tree computes
  // Least limit before the first step: imports from a cold disk, data lists, a rendezvous.
  double start_seconds = 30;
};

// Why the trial counts as hung, or empty. `expected_step_seconds` 0: unknown. `started`: a step has
// been reported before.
std::optional<std::string> hung_reason(const SilenceRule& rule, double silent_seconds,
                                       double cpu_seconds, double expected_step_seconds,
                                       bool started);

}  // namespace ocrtune
