// What is tuned. One class for each kind, in the folder of its kind; the search, the answer and
// `run` know only this.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/knobs.h"
#include "trial/reason.h"
#include "trial/runner.h"
#include "trial/workloads/launch.h"

namespace ocrtune {

// What is worth a trial, where the user does not say.
struct WorkloadSpace {
  std::vector<Axis> axes;                // in the order of a search; a user's list replaces one
  std::vector<std::string> constraints;  // of what can run at all: "nproc*batch<=1000"
  // Whether values that were crossed make sense together. `listed` names the knobs whose values the
  // user gave: these are taken as they are. Empty: all do.
  std::function<bool(const Knobs& knobs, const std::set<std::string>& listed)> sensible;
  bool rules_of_thumb = false;  // they speak of this: training on CPUs
};

// Bytes of the whole setting by plan, before any trial; 0 is "cannot tell".
using MemoryPrior = std::function<double(const Knobs&)>;

// How a setting's memory is judged.
struct WorkloadMemory {
  MemoryPrior prior;    // may be empty
  int memories = 1;     // peaks and limit are of the fullest of so many: GPUs, taken in turn
  bool guards = true;   // trials can be stopped before they pass a number of bytes
  int shared_gpus = 0;  // that processes take in turn, several on one; 0: each has one for itself
};

// What a run's trials showed of its program.
struct SeenOfProgram {
  std::set<std::string> runtimes;  // ThreadUse::runtimes of all
  std::set<std::string> inert;     // knobs that change nothing
};

class Workload {
 public:
  virtual ~Workload() = default;

  // Of a trial's samples_per_second: a rate with a name, as rate_name() takes it.
  virtual Unit unit() const { return Unit::sample_rate; }
  virtual WorkloadSpace space(const Machine& machine) const = 0;
  virtual WorkloadMemory memory() const { return {}; }
  // Of a trial that measures for so long; without the limit of its memory.
  virtual TrialLimits limits(double measure_seconds) const;
  // Of a trial before and after its measuring, until one has run.
  virtual double overhead_seconds() const { return 2; }

  // Who measures it. Errors: missing (what it measures), and those of a command that cannot be
  // tried here.
  virtual Result<std::unique_ptr<Runner>> runner(const Machine& machine) const = 0;
  // What starts `knobs` for good: the one way in which an answer, a stored run and `run` make it.
  // Of the variables of thread pools it has those that something of the program reads.
  virtual Result<Launch> launch(const Machine& machine, const Knobs& knobs,
                                const SeenOfProgram& seen) const = 0;
};

// Contexts, libraries and NCCL's first meeting, which a trial on GPUs may take beside its
// measuring.
inline constexpr double kGpuStartSeconds = 150;

// missing: names the first path, of those that are not empty, that is not there.
Status check_measured_files(const std::vector<std::string>& paths);

// `runner` with the control kernel between its trials (trial/watch/control_kernel.h).
std::unique_ptr<Runner> controlled(std::unique_ptr<Runner> runner, const Machine& machine);

}  // namespace ocrtune
