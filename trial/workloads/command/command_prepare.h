// From the user's command to one that can be tried: presets worked in, mistakes found before any
// trial.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

// Checks everything that can be known before a trial. usage: unknown placeholder, reader or preset,
// a knob that the command ignores, an open quote; missing: executable, folder, preset's config;
// invalid: a config that is not YAML; what `choose` gives, which may set the knobs half-way.
Result<PreparedCommand> prepare_command(const CommandWorkload& workload, const Machine& machine,
                                        const KnobChoice& choose = {});

// Whether its settings differ in the samples between two updates of the weights. `asked`: the
// workload that was prepared, whose knobs are the ones that the user has named.
bool turns_global_batch(const PreparedCommand& prepared, const CommandWorkload& asked);

// The rest of it where the log reader was found only now. usage: no such reader; the command cannot
// be run again and again.
Status read_by(const std::string& log_reader, std::optional<bool> per_rank,
               PreparedCommand& command);

// The same for a command that is launched for good: what tells its speed is no matter.
Result<PreparedCommand> prepare_launch(const CommandWorkload& workload, const Machine& machine);

// What is launched for good: without the settings that only a short trial needs.
CommandWorkload launch_workload(const PreparedCommand& command);

// Setup, the command and cleanup, as lines that a shell accepts in this order.
std::vector<std::string> shell_lines(const FilledCommand& filled);
// Those of a trial of these knobs that is not run.
std::vector<std::string> dry_run_lines(const PreparedCommand& command, const Machine& machine,
                                       const Knobs& knobs);

// What starts `knobs` for good; {trial_dir} is a folder of the user's data directory, {port} 29500;
// of several nodes with any_host() for what tells the hosts apart.
Result<Launch> launch_of(const PreparedCommand& command, const Machine& machine,
                         const Knobs& knobs);

}  // namespace ocrtune
