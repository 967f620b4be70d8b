// What an earlier run found, for the start of a search: settings to try early, never their rates.
#pragma once

#include <vector>

#include "tuner/recommendation.h"
#include "tuner/space/space.h"

namespace ocrtune {

// The fastest settings of a run that worked, best first: of each number of processes and threads
// the best one, at most three.
std::vector<Knobs> hints_of(const TuneResult& earlier);

// The points of the space that are nearest to them, each once.
std::vector<int> hint_points(const Space& space, const std::vector<Knobs>& hints);

}  // namespace ocrtune
