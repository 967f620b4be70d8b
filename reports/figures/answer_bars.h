// The answer on one axis: the start, the recommended setting and the rules of thumb, each a bar
// with its interval; of a service also the latency of these settings.
#pragma once

#include <string>

#include "tuner/store/run_record.h"

namespace ocrtune {

// HTML, no SVG: names and figures keep their size on a narrow screen. Empty: fewer than two
// settings have a rate.
std::string rate_bars(const RunRecord& run);

// From p50 to p99 of an answer, with the latency target; empty: no service, or never measured under
// a closed load.
std::string latency_bars(const RunRecord& run);

}  // namespace ocrtune
