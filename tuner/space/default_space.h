// The space for a machine: what its workload finds worth a look here, with the user's own lists in
// place of its axes where given, less what cannot run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/reason.h"
#include "trial/workloads/workload.h"
#include "tuner/space/space.h"

namespace ocrtune {

struct SpaceRequest {
  WorkloadSpace workload;
  Knobs base;                 // values of the knobs that are not searched
  std::vector<Axis> lists;    // the user's lists; `scale` is ignored. Each replaces an axis
  std::vector<Knobs> always;  // the rules' settings: points wherever constraints and CPUs allow;
                              // `base`, the user's current setting, in any case
  std::vector<std::string> constraints;  // "nproc*threads<=16", "batch>=8", "workers=0"
  std::size_t max_points = 5000;
};

// Every point can be bound on this machine (probes/placement/partition.h), `base` alone excepted.
// usage: a list that the knob table refuses, a constraint that cannot be read, or constraints that
// leave no point (the message names the one that removed the last).
Result<Space> make_space(const Machine& machine, const SpaceRequest& request);

// The settings of the rules of thumb here: nproc as the rule says, the usable CPUs shared out as
// threads, the rest as in `base`. Named as in RulesOfThumb.
struct RuleSetting {
  std::string name;  // "memory_half", "cores_60_percent", "seven"
  Reason text;       // with the number for this machine
  Knobs knobs;
};
std::vector<RuleSetting> rule_settings(const Machine& machine, const Knobs& base);

// Whether a setting beyond the lists meets the conditions of a request and can be bound here.
// Errors: those of make_space's conditions.
Result<std::function<bool(const Knobs&)>> setting_filter(const Machine& machine,
                                                         const SpaceRequest& request);

}  // namespace ocrtune
