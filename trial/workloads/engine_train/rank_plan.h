// The processes of a trial of the built-in core: a worker for each rank, with its spec, its
// environment and its CPUs. Runners add what is theirs: a segment, a GPU, a limit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/process.h"
#include "probes/machine/machine.h"
#include "trial/watch/trial_watch.h"
#include "trial/workloads/engine_train/training_workload.h"

namespace ocrtune {

struct RankPlanRequest {
  const TrainingWorkload& workload;
  const CpuFacts& cpu;
  const std::vector<std::string>& worker_command;  // followed by "--spec JSON"
  int threads_per_rank = 1;                        // that want a CPU, loaders included
};

// `adjust` sees each rank's spec before it is written and its process.
using RankAdjust = std::function<void(int rank, WorkerSpec& spec, ProcessOptions& process)>;

TrialPlan plan_ranks(const RankPlanRequest& request, const Knobs& knobs,
                     const std::vector<CpuSet>& masks, const RankAdjust& adjust);

}  // namespace ocrtune
