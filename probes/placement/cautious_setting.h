// What can be said about a launch before anything was measured: the rules of thumb' numbers, and a
// setting computed from the facts with its reasons.
#pragma once

#include "probes/machine/machine.h"

namespace ocrtune {

// Half of the memory in GB, 60 % of the physical cores, at most 7: rules of thumb that people
// follow, as process counts for this machine. 0 where the fact behind a rule is unknown.
RulesOfThumb rules_of_thumb_of(const Machine& machine);

// One process for each group of cores that share a cache, one thread for each whole core (at most
// 8), never more threads than usable CPUs, and never more processes than fit at 2 GiB each in 80 %
// of the free memory. Fast cores only on hybrid CPUs. With visible GPUs: one process for each, of
// one thread, with the CPUs that are left as loader workers (at most 4). Pure: the same facts give
// the same setting.
CautiousSetting cautious_setting_of(const Machine& machine);

}  // namespace ocrtune
