// The Runner that measures what a stored run measured: its built-in workload, or its command.
#pragma once

#include <memory>

#include "base/result.h"
#include "bench/runner.h"
#include "tuner/run_record.h"

namespace ocrtune {

// Errors: a command that cannot be tried here (bench/command_prepare.h).
Result<std::unique_ptr<Runner>> make_runner(const RunOptions& options, const Machine& machine);

}  // namespace ocrtune
