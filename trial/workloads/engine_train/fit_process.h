// Training to a step on GPUs, a process for each, that may hang or die: they say how it goes, one
// JSON object a line on their output, and this side waits with a deadline. Checkpoints are the CPU
// core's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/train/training_run.h"
#include "trial/workloads/engine_train/fit_spec.h"

namespace ocrtune {

struct FitOptions {
  std::string program;          // the GPU worker
  double start_seconds = 180;   // silence until the first step: contexts and libraries are slow
  double silent_seconds = 120;  // silence later; every step of a running process counts as a word
  double shutdown_grace_seconds = 60;  // for the checkpoint, after an interrupt
};

// Starts `program fit --spec JSON` for each of `gpus` (UUIDs), rank r on the r-th, which is the
// only one that it sees. Rank 0 reports and saves; the end of any other before it ends all, and so
// does its silence. Errors as run_training's, with their kinds; failed: one died or fell silent,
// and the words name it - what the last checkpoint holds is kept. Returns once none of them runs
// any more.
Result<TrainingOutcome> run_fit_processes(
    const TrainingRunOptions& run, const std::vector<std::string>& gpus, const FitOptions& options,
    const std::function<void(const TrainingProgress&)>& report);

// The other side. Opened once the loader's processes are forked.
class FitDevice {
 public:
  virtual ~FitDevice() = default;
  virtual Status open() = 0;                              // unsupported: another GPU than was meant
  virtual Result<std::unique_ptr<Comm>> make_comm() = 0;  // of several ranks
  virtual Result<std::unique_ptr<Trainer>> make_trainer(const TrainerOptions& options,
                                                        Comm& comm) = 0;
};

// Runs and says it on `descriptor`; false: it ended with an error, which was said.
bool run_fit_on(const FitSpec& spec, FitDevice& device, int descriptor);

}  // namespace ocrtune
