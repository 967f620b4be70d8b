// The Runner that tries the user's own command.
#pragma once

#include <functional>
#include <memory>

#include "probes/machine/machine.h"
#include "trial/logs/log_reader.h"
#include "trial/runner.h"
#include "trial/watch/stopping.h"
#include "trial/watch/trial_watch.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

inline constexpr double kSetupSeconds = 600;  // for a line of setup or cleanup

// What this host does of a job over several.
struct HostPart {
  TrialPlace place;  // without folder and port
  TrialPart trial;
};

// What the lines of the command mean at this setting.
LogContext log_context(const PreparedCommand& command, const Knobs& knobs);

// Reads what a command prints in place of its log reader.
using MakeListener = std::function<std::unique_ptr<LogReader>()>;

// `command` comes from prepare_command(). Each trial has a fresh folder, which is kept, and named
// in the evidence, when the trial fails.
std::unique_ptr<Runner> make_command_runner(const PreparedCommand& command, const Machine& machine,
                                            const SilenceRule& silence = SilenceRule(),
                                            HostPart part = {}, MakeListener listener = {});

}  // namespace ocrtune
