// The Runner that measures what a stored run measured: its built-in workload, or its command.
#pragma once

#include <memory>

#include "base/result.h"
#include "trial/runner.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// With `prove_per_second` above 0 its trials run that rate of requests at full length instead of
// searching for one. Errors: missing (the run's data, before any trial), and those of a command
// that cannot be tried here (trial/workloads/command/command_prepare.h).
Result<std::unique_ptr<Runner>> make_runner(const RunOptions& options, const Machine& machine,
                                            double prove_per_second = 0);

}  // namespace ocrtune
