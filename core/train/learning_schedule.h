// How the learning rate goes over the steps of a run.
//
// A pure function of the step: a run that goes on from a checkpoint, and every rank of a run, has
// the same rates as one that was never stopped, as long as the schedule is the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// Rises in equal parts over the warm-up and reaches the peak in its last step. Then `constant`
// stays there, and `cosine` falls as half a cosine to 0, which it would reach one step after the
// last. PaddleOCR's Cosine with warmup_epoch is the model; its first step has rate 0, and its
// cosine is as long as the run, so that it stops short of 0 by as much as was warmed up.
struct LearningSchedule {
  std::string shape = "constant";  // a name of learning_schedule_names()
  double peak = 1e-3;
  std::int64_t warm_up_steps = 0;
  std::int64_t steps = 0;  // of the whole run, the warm-up included; `constant` needs none

  // Of the step after `done` steps, done >= 0. Beyond the run `cosine` gives 0.
  double rate_at(std::int64_t done) const;
};

const std::vector<std::string>& learning_schedule_names();

// usage: unknown shape, a rate that is no positive number, a warm-up below 0 or one that leaves
// `cosine` no step to fall in.
Status check_schedule(const LearningSchedule& schedule);

}  // namespace ocrtune
