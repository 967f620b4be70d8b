// From the user's command to one that can be tried: presets worked in, mistakes found before any
// trial.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

// Checks everything that can be known before a trial. usage: unknown placeholder, reader or preset,
// a knob that the command ignores, an open quote; missing: executable, folder, preset's config;
// invalid: a config that is not YAML.
Result<PreparedCommand> prepare_command(const CommandWorkload& workload, const Machine& machine);

// What would be run for these knobs, as lines that a shell accepts: setup, the command, cleanup.
std::vector<std::string> dry_run_lines(const PreparedCommand& command, const Machine& machine,
                                       const Knobs& knobs);

// The command for the recommendation: ready to paste, {trial_dir} shown as "./run", ports as 29500.
std::string launch_line(const PreparedCommand& command, const Machine& machine, const Knobs& knobs);

}  // namespace ocrtune
