// The Runner that trains for real: one `ocrtune worker` process for each rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probes/machine/machine.h"
#include "trial/runner.h"
#include "trial/watch/trial_watch.h"
#include "trial/workloads/engine_train/training_workload.h"

namespace ocrtune {

struct ProcessRunnerOptions {
  // What is started for each rank, followed by "--spec JSON"; empty: this program's `worker`.
  std::vector<std::string> worker_command;
  SilenceRule silence;
  double stop_grace_seconds = 0.5;
};

std::unique_ptr<Runner> make_process_runner(const TrainingWorkload& workload,
                                            const Machine& machine,
                                            const ProcessRunnerOptions& options = {});

}  // namespace ocrtune
