// The final page of a supervised run: how it ended, each attempt with its memory over time, the
// warnings, and the diagnosis of what went wrong. No network.
#pragma once

#include <string>

#include "extras/supervise/supervise.h"

namespace ocrtune {

// `ended`: UTC, as people write it.
std::string supervised_html(const SuperviseOptions& options, const SuperviseEnd& end,
                            const std::string& ended);

}  // namespace ocrtune
