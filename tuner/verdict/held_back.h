// Why more cores bring no more: what holds the recommended setting back, by what its trial's
// threads did and waited for, and by what other settings changed.
//
// A cause is named only where the counters leave no other one; where two stages share the time,
// none is. Thresholds: docs/trial.md.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "trial/trial.h"
#include "tuner/recommendation.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

// At most two causes, of different kinds, the surest first; each with what to try next, and whether
// these settings have tried it. `cpus` are the usable ones; 0: unknown, nothing is said. `fixed`:
// knobs that the command ignores, so that a list of their values would be refused. `cold`: trials
// whose files were out of memory when they began, each followed by one that found them there again
// where other load ran beside it. `memory_bytes` that the machine leaves; 0: unknown.
std::vector<HeldBack> held_back(const std::vector<Trial>& trials,
                                const std::vector<Setting>& settings, const Knobs& knobs,
                                double cpus, const std::set<std::string>& fixed = {},
                                const std::vector<Trial>& cold = {}, double memory_bytes = 0);

// Of one trial alone, whatever its outcome: what its threads did needs no rate.
std::vector<HeldBack> held_back(Trial trial, double cpus, const std::set<std::string>& fixed);

// Of trials that gave no rate in their time: what held back the one that was watched longest.
std::vector<HeldBack> held_back(const std::vector<Trial>& trials, double cpus,
                                const std::set<std::string>& fixed);

// A rate that fell within so many seconds; both above 0.
HeldBack rate_fell(double first, double last, double seconds);

// The cause and what to try next, as one.
Reason held_back_reason(const HeldBack& held);

}  // namespace ocrtune
