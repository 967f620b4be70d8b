// Training to a step on a GPU, in a process that may hang or die: it says how it goes, one JSON
// object a line on its output, and this side waits with a deadline. Checkpoints are the CPU core's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "bench/fit_spec.h"
#include "core/training_run.h"

namespace ocrtune {

struct FitOptions {
  std::string program;           // the GPU worker
  double start_seconds = 180;    // silence until the first step: contexts and libraries are slow
  double silent_seconds = 120;   // silence later; every step of a running process counts as a word
  double farewell_seconds = 60;  // for the checkpoint, after an interrupt
};

// Starts `program fit --spec JSON`, which sees the spec's GPU alone. Errors as run_training's, with
// their kinds; failed: it died or fell silent - what its last checkpoint holds is kept.
Result<TrainingOutcome> run_fit_process(const FitSpec& spec, const FitOptions& options,
                                        const std::function<void(const TrainingProgress&)>& report);

// The other side. `open` is called once the loader's processes are forked.
class FitDevice {
 public:
  virtual ~FitDevice() = default;
  virtual Result<std::unique_ptr<Trainer>> make_trainer(const TrainerOptions& options,
                                                        Comm& comm) = 0;
};

// Runs and says it on `descriptor`; false: it ended with an error, which was said.
bool run_fit_on(const FitSpec& spec, FitDevice& device, int descriptor);

}  // namespace ocrtune
