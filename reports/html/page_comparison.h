// The section that sets a run beside an earlier one.
#pragma once

#include <string>

#include "tuner/verdict/comparison.h"

namespace ocrtune {

std::string comparison_section(const RunComparison& comparison);

// The same for a terminal: differences, verdict, the settings that changed most. Its lines are
// whole, for the figures stand last.
std::string comparison_text(const RunComparison& comparison);

}  // namespace ocrtune
