// What the winner's evaluation and checkpoint came to, which no other trial has: their memory
// counts for what is safe, their time is said.
#pragma once

#include <cstdint>
#include <vector>

#include "trial/reason.h"
#include "trial/trial.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

// The peak of a setting is that of its rehearsal where this is higher; that of the others, which
// were not rehearsed, rises by the most that a rehearsal added, which is given back. A setting that
// ran out of memory in its rehearsal does not work. Any other failure is the evaluation's own and
// would be every setting's.
std::uint64_t weigh_rehearsals(const std::vector<Trial>& rehearsals,
                               std::vector<Setting>& settings);

// For a reader; `every_steps` between two evaluations of the command's own run, 0: unknown; `most`:
// what weigh_rehearsals() gave. Empty: nothing was rehearsed.
Reason rehearsal_reason(const std::vector<Trial>& rehearsals, const Setting& setting,
                        int every_steps, std::uint64_t most);

}  // namespace ocrtune
