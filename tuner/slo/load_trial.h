// The process of a trial that sends requests: the highest rate that meets the SLO, or without a
// SLO the most that a service answers. Told to the trial as one result.
#pragma once

#include "trial/ipc/event_writer.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"

namespace ocrtune {

bool run_load_trial(const InferTrialSpec& spec, EventWriter& events);  // false: it failed

// Measuring time of a trial that searches for a rate under this SLO.
double load_trial_seconds(double slo_seconds);

}  // namespace ocrtune
