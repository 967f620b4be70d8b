// Fills what no file tells: effective cores and memory bandwidth, measured on this machine.
#pragma once

#include "probes/machine/machine.h"

namespace ocrtune {

// About 4.5 s at most: 1.5 s for the cores, 3 s for the memory (a quarter of the free memory at
// most). The machine's CPU and memory facts must be filled in already.
void add_measured_facts(Machine& machine, double bandwidth_seconds);

}  // namespace ocrtune
