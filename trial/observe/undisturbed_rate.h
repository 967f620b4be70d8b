// The rate that a trial would have had without other load, from windows that had some.
//
// Windows that nothing disturbed are the evidence where there are enough of them. Where there are
// not, the disturbed ones are put right: what the trial's threads waited for CPUs that strangers
// had is taken off the wall time. How much of it the critical path lost lies between the longest
// wait of one thread (all waited at once) and the sum (one after the other, each at a barrier), and
// never beyond the CPU time itself on all CPUs; where in between, and what the neighbours' use of
// caches costs, the windows say as far as they differ in disturbance. docs/statistics.md derives
// it.
#pragma once

#include <vector>

#include "trial/trial.h"

namespace ocrtune {

struct RateEstimate {
  double samples_per_second = 0;  // 0: no window has a rate
  double error = 0;               // standard error of its logarithm, from the windows
  // What the model does not know, which stays however many trials are made: by itself, and by
  // what external load beside running threads costs. The latter is one unknown of the machine, so
  // it errs alike in all trials; its sign counts.
  double model_error = 0, sharing_error = 0;
  bool modelled = false;   // rests on disturbed windows
  double cpu_seconds = 0;  // of one sample, median over the windows; 0: not observed
};

// `min_cpu_seconds`: of one sample where no thread spins for another that waits for a CPU; what
// disturbed windows took beyond it, they may have spun. 0: not known, they did not spin.
RateEstimate undisturbed_rate(const std::vector<Sample>& samples, double min_cpu_seconds = 0);

}  // namespace ocrtune
