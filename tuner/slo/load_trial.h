// The process of a trial that sends requests: the highest rate that meets the SLO, or without a
// SLO the most that a service answers. Told to the trial as one result.
#pragma once

#include <optional>

#include "trial/ipc/event_writer.h"
#include "trial/trial.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"

namespace ocrtune {

bool run_load_trial(const InferTrialSpec& spec, EventWriter& events);  // false: it failed

// Measuring time of a trial that searches for a rate under this SLO.
double load_trial_seconds(double slo_seconds);

// What one request alone took at the percentile of the SLO, as such a trial noted it.
std::optional<double> alone_seconds(const Trial& trial);

// Its time was over before any rate close above its own was seen to break the SLO.
bool search_ended_early(const Trial& trial);

}  // namespace ocrtune
