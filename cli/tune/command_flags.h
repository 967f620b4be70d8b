// The flags of `tune -- CMD`, and what a command of the user's leaves open.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/flags.h"
#include "probes/machine/machine.h"
#include "tuner/job/job.h"

namespace ocrtune {

struct CommandFlags {
  std::vector<std::string> environment;     // NAME=VALUE
  std::vector<std::string> setup, cleanup;  // one command line each
  std::string metric_of;                    // "", "rank" or "job"
  std::string max_change;                   // as typed
};

void declare_command_flags(Flags& cli, CommandFlags& flags, CommandWorkload& program);

// The flags into `program`. usage: flags of a command without a command; missing: no such folder.
Status read_command_flags(const CommandFlags& flags, CommandWorkload& program);

// A user trial starts an interpreter and reads data anew: it is worth a longer measurement than
// the core's, as far as the budget allows.
double command_trial_seconds(double budget_seconds);

// What the command leaves open: the setting that it has now (unless the user's `baseline` says
// it), and the knobs that it does not turn, which are pinned to that setting. `notes` gets what is
// worth saying before the first trial. Errors as prepare_command(). A server that is reached by its
// address is settled in the same way.
Status settle_command(Job& job, SearchRequest& search, const Machine& machine,
                      const std::string& baseline, std::vector<std::string>& notes);

}  // namespace ocrtune
