// How many cores the allowed CPUs are on: SMT siblings count once.
#pragma once

#include "probes/machine/machine.h"

namespace ocrtune {

// A CPU of unknown place counts as a core of its own.
int allowed_cores(const CpuFacts& cpu);

}  // namespace ocrtune
