// The part of `ocrtune tune` that speaks of inference: its flags, and what they leave open.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/commands/service_flags.h"
#include "cli/flags.h"
#include "cli/tune/job_flags.h"

namespace ocrtune {

struct InferenceFlags {
  std::string alphabet;  // as typed
  bool height_given = false, width_given = false;
  std::string refusal;  // why the built-in engine cannot compute the model; empty: it can
  ServiceFlags service;
};

void declare_inference_flags(Flags& cli, JobFlags& typed, InferenceFlags& flags);

// Before the machine is probed: do the flags go together, is everything there that they name?
// `data` is --data as typed; `model_given` says whether --model was.
Status read_inference(JobFlags& typed, const SearchRequest& search, InferenceFlags& flags,
                      const std::string& data, bool model_given);

// Measuring time of a trial unless the user gave one.
double default_trial_seconds(const JobFlags& typed);

}  // namespace ocrtune
