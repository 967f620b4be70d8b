// What one proposal costs: CPU time of telling a trial and asking for the next setting.
#pragma once

#include <vector>

#include "bench/synthetic/synthetic_machine.h"

namespace ocrtune {

// Searches every machine with `trials` trials and prints a Markdown row for each group of ten
// proposals.
void print_latency(const std::vector<SyntheticMachine>& machines, int trials);

}  // namespace ocrtune
