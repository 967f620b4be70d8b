// The Runner that tries the user's own command.
#pragma once

#include <memory>

#include "bench/command_workload.h"
#include "bench/runner.h"
#include "bench/stopping.h"
#include "probes/machine.h"

namespace ocrtune {

// `command` comes from prepare_command(). Each trial has a fresh folder, which is kept, and named
// in the evidence, when the trial fails.
std::unique_ptr<Runner> make_command_runner(const PreparedCommand& command, const Machine& machine,
                                            const SilenceRule& silence = SilenceRule());

}  // namespace ocrtune
