// The Runner that tries the user's command on several hosts at once, through their agents.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "extras/hosts/agents.h"
#include "probes/machine/machine.h"
#include "trial/runner.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

// Of the first `nodes` hosts: a port that is free on the first one, and the address that its own
// name leads to, for Paddle's launcher starts its master on the host whose address --master says,
// and knows no names. A host that the user gave by its address keeps it.
std::vector<TrialPlace> meeting_places(Agents& agents, int nodes);

// A trial of `nodes` takes the first ones of the agents' hosts. Where a host is lost, a new agent
// is started on it and the trial run once more; `tell` hears which one, and why. Where it does
// not answer then either, trials that need it are skipped, each after half a minute.
struct JobRunnerOptions {
  std::shared_ptr<Agents> agents;
  std::function<void(const std::string& note)> tell;
};

// `command` comes from prepare_command(), `machine` is what any of the hosts is.
std::unique_ptr<Runner> make_job_runner(const JobRunnerOptions& options,
                                        const PreparedCommand& command, const Machine& machine);

}  // namespace ocrtune
