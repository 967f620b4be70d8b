// Where the processes of a hung trial sleep: the evidence beside "silent for 12 s".
#pragma once

#include <string>
#include <vector>

#include "base/process_tree.h"

namespace ocrtune {

// One line for each kind of state: "3 threads of python sleep in futex_wait_queue (pids 12, 15)".
// At most 8 lines; the kernel function is left out where it may not be read.
std::vector<std::string> wait_states(const std::vector<ProcessFacts>& members);

}  // namespace ocrtune
