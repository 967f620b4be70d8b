// Pictures of the whole run: throughput against memory, and the story of the search.
#pragma once

#include <string>

#include "tuner/store/run_record.h"

namespace ocrtune {

// Every working setting by peak memory and rate, with the front that nothing beats in both. Empty
// with fewer than three settings whose memory is known.
std::string pareto_figure(const RunRecord& run);

// Every trial over the minutes of the run, phases shaded, with the best rate so far. Empty with
// fewer than two trials that were ok.
std::string story_figure(const RunRecord& run);

}  // namespace ocrtune
