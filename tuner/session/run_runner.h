// The Runner that measures what a stored run measured: its built-in workload, or its command.
#pragma once

#include <memory>

#include "base/result.h"
#include "trial/runner.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// missing: the run's data, before any trial. Errors too: a command that cannot be tried here
// (trial/workloads/command/command_prepare.h).
Result<std::unique_ptr<Runner>> make_runner(const RunOptions& options, const Machine& machine);

}  // namespace ocrtune
