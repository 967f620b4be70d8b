// The figures of a run; one without enough to show is empty.
#pragma once

#include <string>
#include <string_view>

#include "probes/machine/machine.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// The start, the recommended setting and the rules of thumb, each a bar with its interval. HTML, no
// SVG: names and figures keep their size on a narrow screen. Empty: fewer than two have a rate.
std::string rate_bars(const RunRecord& run);

// From p50 to p99 of an answer, with the latency target; empty: no service, or never measured under
// a closed load.
std::string latency_bars(const RunRecord& run);

// Processes against batch, one cell for the best setting of each. A measured cell is coloured by
// its rate, a failed one carries a cross and the cause; the recommended one a star; rules a
// triangle. Empty when fewer than two cells would stand in it.
std::string map_figure(const RunRecord& run);

// Every measured setting is a faint dot, the best at each value of `knob` (a count) a mark with a
// whisker. For nproc a dashed line shows what perfect scaling from the least value would give.
// Empty when fewer than two values were measured.
std::string scaling_figure(const RunRecord& run, std::string_view knob);

// Every working setting by peak memory and rate, with the front that nothing beats in both. Empty
// with fewer than three settings whose memory is known.
std::string pareto_figure(const RunRecord& run);

// Every trial over the minutes of the run, phases shaded, with the best rate so far. Empty with
// fewer than two trials that were ok.
std::string story_figure(const RunRecord& run);

// Packages, NUMA nodes, cache groups and cores. `placement` is a trial's ("0:0-3 1:4-7"); empty:
// none is shown. Empty when the places of the CPUs are unknown. A core that this process may not
// use is crossed out.
std::string topology_figure(const Machine& machine, const std::string& placement);

}  // namespace ocrtune
