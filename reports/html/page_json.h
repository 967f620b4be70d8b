// The trials as compact JSON for the page's script: texts stand once and are named by number.
#pragma once

#include <string>

#include "tuner/store/run_record.h"

namespace ocrtune {

// {knobs, strings, settings, trials, chosen, baseline, limit_bytes, cut_logs, phases, unit}; the
// columns of a trial are listed in the source and in reports/page/trials.js. Safe inside a script
// element. Log tails of failed trials come first when they do not all fit the page.
std::string page_json(const RunRecord& run);

}  // namespace ocrtune
