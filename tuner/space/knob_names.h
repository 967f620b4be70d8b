// Names in a setting that the user typed: a mistyped knob must not pass for a dimension of his own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trial/knobs.h"

namespace ocrtune {

// `own` are the user's dimensions; a {placeholder} of `command` is one too. Errors: usage for any
// other name that is no knob, with the nearest one.
Status check_knob_names(const Knobs& knobs, const std::vector<std::string>& own,
                        const std::vector<std::string>& command);

}  // namespace ocrtune
