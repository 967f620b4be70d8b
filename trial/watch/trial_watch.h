// One trial from start to end: processes started, watched, measured and stopped; nothing is left.
//
// The same loop serves our own workers (events on a pipe for each rank) and a user command (its
// output goes through a log reader). It reads what is new (trial_sources.h) and then gives each
// watch its look: processes, memory, exits, silence. The first that finds a reason ends the trial.
#pragma once

#include "base/clock.h"
#include "trial/runner.h"
#include "trial/trial.h"
#include "trial/watch/trial_plan.h"

namespace ocrtune {

// Fills outcome, cause, reason, evidence, samples, rate, peak, seconds, placement and log tail of a
// trial; knobs, reproduce line and the rest are the caller's. Where ranks report a GPU's memory,
// the peak is the fullest GPU's, all ranks on it together, and the machine's is only watched.
Trial watch_trial(const TrialPlan& plan, const TrialLimits& limits, Clock& clock = steady_clock());

}  // namespace ocrtune
