// The settings that nothing tried beats in every thing at once.
#pragma once

#include <string>
#include <vector>

#include "tuner/recommendation.h"

namespace ocrtune {

// The things that at least one setting was measured in: "samples_per_second" (more is better),
// "peak_bytes", "step_seconds" (less). Step times only when asked for:
// they follow the batch, so that nearly every setting would be a member.
std::vector<std::string> pareto_axes(const std::vector<SettingSummary>& settings,
                                     bool with_step_seconds);

// Members among the settings that work, fastest first; of equals one stays. Settings that were not
// measured in one of the things are left out.
std::vector<SettingSummary> pareto_set(const std::vector<SettingSummary>& settings,
                                       const std::vector<std::string>& axes);

}  // namespace ocrtune
