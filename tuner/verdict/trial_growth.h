// Does a trial's memory grow while it measures, and what does that mean for a run of hours?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trial/reason.h"
#include "trial/trial.h"

namespace ocrtune {

// Empty when it does not grow for sure, or too little to tell from an allocator's first rounds. A
// trial is short, so the slope speaks of its last two thirds only.
// "memory grows by 1.2 MiB/s (1.1 .. 1.3): the limit of 22 GiB is met in 5 h (4 h .. 6 h)"
std::string trial_growth(const Trial& trial, std::uint64_t limit_bytes);

// Not empty when memory grew in most trials of a setting: one alone may be chance. Reads what
// trial_growth() left among the trials' evidence.
Reason repeated_growth(const std::vector<Trial>& trials, const Knobs& knobs);

}  // namespace ocrtune
