// The other end of agents.h: reads requests on standard input, answers on standard output.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

// Until the input ends, the process is told to end, or nothing comes for 10 s; then the process
// exits at once with whatever it was doing, and its children die with it.
Result<int> run_agent(const std::string& version);

}  // namespace ocrtune
