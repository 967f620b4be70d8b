// What one proposal costs: CPU time of telling a trial and asking for the next setting.
#pragma once

#include <vector>

#include "bench/synthetic_machine.h"

namespace ocrtune {

// CPU milliseconds of each proposal of one search of `trials` trials, in order.
std::vector<double> proposal_milliseconds(const SyntheticMachine& machine, int trials,
                                          std::uint64_t seed);

// Runs every machine and prints a Markdown row for each group of ten proposals.
void print_latency(const std::vector<SyntheticMachine>& machines, int trials);

}  // namespace ocrtune
