// What can be said before a long tune: one line for each thing that it would stumble over.
#pragma once

#include <string>
#include <vector>

#include "probes/machine/machine.h"
#include "trial/trial.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

struct Check {
  enum class State { ok, warning, fails };

  State state = State::ok;
  std::string name;  // "data", "machine", "step", ...
  std::string text;  // a sentence; of a warning or a failure with the way out
};

const char* check_state_name(Check::State state);

// CPUs, memory, /dev/shm and the limits of processes; a warning for each of the machine's.
std::vector<Check> machine_checks(const Machine& machine);

// Of a command's ranks, which meet by the host's own name (torchrun, Gloo, paddle.distributed);
// `address` is what it resolves to here, "": nothing.
Check own_name_check(const std::string& name, const std::string& address);

// What a trial of the baseline showed: that it ran, that its speed was understood, its memory, and
// what the budget pays for out of `settings`.
std::vector<Check> step_checks(const Trial& trial, const Job& job, const SearchRequest& search,
                               const Machine& machine, std::int64_t settings);

}  // namespace ocrtune
