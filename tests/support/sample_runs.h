// Runs as a tune would leave them, made from a formula: what the reports are tested with.
#pragma once

#include <string>
#include <vector>

#include "tuner/store/run_record.h"

namespace ocrtune {

// "two_socket_server": 2 packages, 4 NUMA nodes, 32 cores with SMT, 64 GiB, of which 60 usable.
Machine sample_machine();

// About `trials` trials over nproc x threads x batch, with out-of-memory and other failures, three
// ties, rules and terms. The same arguments give the same run.
RunRecord sample_run(int trials = 120);

RunRecord empty_run();            // stopped before the first trial
RunRecord run_without_success();  // every trial failed
// Every text field holds markup, quotes, control bytes, direction marks and a 10 kB line.
RunRecord hostile_run();
std::string hostile_text(const std::string& field);

}  // namespace ocrtune
