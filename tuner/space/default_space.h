// The space for a machine: which processes, threads, batches, loader workers and bindings are worth
// a look here, with the user's own lists in place of ours where given.
//
// Processes x threads go up to the usable CPUs, with a few oversubscribed combinations so that the
// claim "do not oversubscribe" is measured and not assumed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "tuner/space/space.h"

namespace ocrtune {

struct SpaceRequest {
  Knobs base;                  // values of the knobs that are not searched
  std::vector<Axis> lists;     // the user's lists; `scale` is ignored. Each replaces our own
  std::vector<Axis> own_axes;  // in place of, or beside, the usual ones; the user's lists win
  std::vector<Knobs> always;   // the rules' settings: points wherever constraints and CPUs allow;
                               // `base`, the user's current setting, in any case
  std::vector<std::string> constraints;  // "nproc*threads<=16", "batch>=8", "workers=0"
  int min_batch = 4;
  int max_batch = 64;      // of one process; no more than the samples that are there
  bool precision = false;  // also search bf16 where the CPU has it natively
  bool gpu = false;        // also search the NCCL knobs
  int train_gpus = 0;    // the built-in core trains on so many GPUs, one for each process; 0: CPUs
  int infer_gpus = 0;    // the built-in core reads on so many, several processes on each as well
  int command_gpus = 0;  // a command that trains on up to so many, one for each process
  bool tensor_cores = false;  // they have tf32 and bf16
  std::size_t max_points = 5000;
};

// Every point can be bound on this machine (probes/placement/partition.h), `base` alone excepted.
// usage: a list that the knob table refuses, a constraint that cannot be read, or constraints that
// leave no point (the message names the one that removed the last).
Result<Space> make_space(const Machine& machine, const SpaceRequest& request);

// The settings of the rules of thumb here: nproc as the rule says, the usable CPUs shared out as
// threads, the rest as in `base`. Named as in FolkRules.
struct RuleSetting {
  std::string name;  // "memory_half", "cores_60_percent", "seven"
  std::string text;  // in words, with the number for this machine
  Knobs knobs;
};
std::vector<RuleSetting> rule_settings(const Machine& machine, const Knobs& base);

// CPUs that a trial can have at once: the least of affinity, cpuset and quota, at least 1.
int usable_cpu_count(const Machine& machine);

}  // namespace ocrtune
