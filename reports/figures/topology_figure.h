// The machine drawn: packages, NUMA nodes, cache groups and cores, and which rank had which core.
#pragma once

#include <string>

#include "probes/machine/machine.h"

namespace ocrtune {

// `placement` is a trial's ("0:0-3 1:4-7"); empty: none is shown. Empty when the places of the CPUs
// are unknown. A core that this process may not use is crossed out.
std::string topology_figure(const Machine& machine, const std::string& placement);

}  // namespace ocrtune
