// The answer of a run in eight lines: what a terminal shows after a tune. console_summary() has the
// rest.
#pragma once

#include <string>

#include "reports/catalogue/reasons.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Verdict, command, rate and gain, memory, what the recipe needs, one caveat, and where to go on.
// Each is wrapped at `width` columns, the command excepted, which people copy. `database`: the file
// of --db, which the commands to go on with need too; empty: the usual one.
std::string console_answer(const RunRecord& run, int width, bool colour, Language language,
                           const std::string& database = "");

}  // namespace ocrtune
