// The rate of a trial, and the one that it would have had without other load.
//
// Windows that nothing disturbed are the evidence where there are enough of them: their samples
// over their seconds, slow windows that recur included. Where there are not, the disturbed ones are
// put right: what the trial's threads waited for CPUs that strangers had is taken off the wall
// time. How much of it the critical path lost lies between the longest wait of one thread (all
// waited at once) and the sum (one after the other, each at a barrier), and never beyond the CPU
// time itself on all CPUs; where in between, and what the neighbours' use of caches costs, the
// windows say as far as they differ in disturbance. docs/statistics.md derives it.
//
// No rate goes beyond what was seen: not above what the CPUs that the threads may use could do, nor
// above the best window less all that it can have lost. What the model would change by more than
// 30 % is left as it was measured and called disturbed.
#pragma once

#include <string>
#include <vector>

#include "trial/observe/slow_windows.h"
#include "trial/trial.h"

namespace ocrtune {

inline constexpr double kMostChange = 1.3;  // of what was measured, that is told

struct RateEstimate {
  // To be told: measured, or put right by at most 30 %. 0: no window has a rate.
  double samples_per_second = 0;
  double raw_samples_per_second = 0;  // samples over seconds of all windows, as they were
  // By the model, however far from what was measured: for comparing settings, whose errors below
  // say how well it is known. That of `samples_per_second` where nothing is disturbed.
  double model_samples_per_second = 0;
  double error = 0;  // standard error of the logarithm, from the windows
  // What the model does not know, which stays however many trials are made: by itself, and by
  // what external load beside running threads costs. The latter is one unknown of the machine, so
  // it errs alike in all trials; its sign counts.
  double model_error = 0, sharing_error = 0;
  // The most that may be told of its program: the best window that nothing disturbed, or 30 % above
  // what was measured; of answers that were counted, those.
  double max_samples_per_second = 0;
  bool modelled = false;   // rests on disturbed windows
  bool disturbed = false;  // and is told as it was measured: the model would change it by too much
  double cpu_seconds = 0;  // of one sample, median over the windows; 0: not observed
  SlowWindows slow;        // among the windows that it rests on
};

// `min_cpu_seconds`: of one sample where no thread spins for another that waits for a CPU; what
// disturbed windows took beyond it, they may have spun. 0: not known, they did not spin.
RateEstimate undisturbed_rate(const std::vector<Sample>& samples, double min_cpu_seconds = 0);

// Of a whole trial. Where a load generator counted a server's answers, the rate is what was served:
// load on the machine slows the generator as well, and no model says by how much. What the model
// would have changed is then an error.
RateEstimate undisturbed_rate(const Trial& trial, double min_cpu_seconds = 0);

// For people: what was measured where the rate is another one, whether it is told as it was
// measured beside other load, and how the slow windows came. Empty: nothing of it.
std::vector<std::string> rate_words(const RateEstimate& estimate);

}  // namespace ocrtune
