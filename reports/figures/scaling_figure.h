// How the rate follows one knob: the best setting at each value with its interval.
#pragma once

#include <string>
#include <string_view>

#include "tuner/store/run_record.h"

namespace ocrtune {

// Every measured setting is a faint dot, the best at each value of `knob` (a count) a mark with a
// whisker. For nproc a dashed line shows what perfect scaling from the least value would give.
// Empty when fewer than two values were measured.
std::string scaling_figure(const RunRecord& run, std::string_view knob);

}  // namespace ocrtune
