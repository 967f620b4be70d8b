// From a stored run's options, which are flat, to the workload that they describe: the one place
// that tells the kinds apart.
#pragma once

#include <memory>

#include "trial/workloads/command/command_workload.h"
#include "trial/workloads/command/user_command.h"
#include "trial/workloads/engine_train/training_workload.h"
#include "trial/workloads/workload.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

std::unique_ptr<const Workload> workload_of(const RunOptions& options);

// What the built-in engine trains by these options.
TrainingWorkload training_workload(const RunOptions& options);

// The user's command of these options; the command is not empty.
CommandWorkload command_workload(const RunOptions& options);
// The same with what is known of it.
UserCommandOptions user_command(const RunOptions& options);

}  // namespace ocrtune
