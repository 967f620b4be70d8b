// A training client that fails in the way it is told to. Everything here really happens to real
// processes: a launcher that waits for its ranks, ranks that print a line for each step.
#pragma once

#include <string>

namespace ocrtune {

inline constexpr double kStepSeconds = 0.05;
inline constexpr int kStepsBeforeTheFault = 30;
inline constexpr int kSamplesOfAStep = 8;

// Never returns but for an unknown mode. `fault_file` gets the time of the fault, seconds of the
// steady clock.
int run_faulty_client(const std::string& mode, const std::string& fault_file);

}  // namespace ocrtune
