// The whole account on a terminal: some 30 lines at 80 columns, in the order in which people ask.
#pragma once

#include <string>

#include "reports/catalogue/reasons.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// What to launch, what it is worth, how sure that is, the rules of thumb, what not to launch.
// `width` in columns, from 30 on; the command and its environment are never cut, so that they can
// be copied. Colour by ANSI sequences where `colour` is set; text of the machine carries none.
std::string console_summary(const RunRecord& run, int width, bool colour,
                            Language language = Language::english);

}  // namespace ocrtune
