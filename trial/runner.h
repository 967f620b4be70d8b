// Who measures one setting. The search sees only this: real processes, a recorded table and a
// simulated machine answer through the same call.
#pragma once

#include <cstdint>

#include "trial/knobs.h"
#include "trial/load_point.h"
#include "trial/trial.h"

namespace ocrtune {

struct TrialLimits {
  double measure_seconds = 1.5;          // how long to sample after warm-up
  double max_seconds = 60;               // the whole trial; beyond it the trial is timed_out
  double expected_step_seconds = 0;      // 0: unknown; silence beyond max(10 s, 5x) is hung
  std::uint64_t memory_limit_bytes = 0;  // 0: none; the tree is stopped before it passes this
  // Of a service, instead of a search for the highest: a rate that is run at full length, or so
  // many requests in flight.
  RateToProve proves;
  int in_flight = 0;  // 0: searched for
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Never throws, never leaves a process behind; what went wrong is in the outcome.
  virtual Trial run(const Knobs& knobs, const TrialLimits& limits) = 0;
};

}  // namespace ocrtune
