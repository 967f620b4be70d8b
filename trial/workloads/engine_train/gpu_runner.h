// The Runner that trains on GPUs: one process for each rank, one GPU for each process.
//
// This process loads no driver: the ranks are children that may hang or die, and the same watch
// ends them (trial/watch/trial_watch.h). What a trial reports as its memory is the GPU's: the
// fullest rank's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probes/machine/machine.h"
#include "trial/runner.h"
#include "trial/workloads/engine_train/process_runner.h"

namespace ocrtune {

struct GpuRunnerOptions {
  std::vector<std::string> gpus;  // UUIDs; rank r computes on the r-th and on no other
  // What is started for each rank, followed by "--spec JSON"; empty: the GPU worker's `train`.
  std::vector<std::string> worker_command;
  // Contexts, libraries and NCCL's first meeting take long on machines without persistence mode.
  SilenceRule silence{.min_seconds = 20, .start_seconds = 120};
  double stop_grace_seconds = 1;
};

std::unique_ptr<Runner> make_gpu_runner(const TrainingWorkload& workload, const Machine& machine,
                                        const GpuRunnerOptions& options);

}  // namespace ocrtune
