// From trials to the answer: a pure function, the same for real runs, tables and simulations.
//
// The candidates are the settings of the race that break no constraint, compared round by round.
// Those that cannot be told from the fastest and are within 0.5 % of it tie; of a tie the safest is
// chosen: least memory, then fewest processes. The claim is that setting's rate by the one fit of
// all trials (rate_fit.h).
#pragma once

#include <optional>
#include <vector>

#include "tuner/recommendation.h"
#include "tuner/search/search.h"
#include "tuner/verdict/choice.h"

namespace ocrtune {

// `search` was told all of `trials`. Recommendation::command is left to the caller.
TuneResult recommend(const Space& space, const Search& search, const std::vector<Trial>& trials,
                     const RecommendOptions& options);

// The part that asks the search for nothing but inert knobs: settings, recommendation, gain, ties
// and whether they are settled, without reasons beyond these. For lists of many runs.
TuneResult settle(const Space& space, const Search& search, const std::vector<Trial>& trials,
                  const RecommendOptions& options);

// What keeps recommend() from an answer beside other load; else what keeps its certificate wider
// than kMaxOpenGain, or it from giving one. Nothing: it is no wider, or no setting works.
std::optional<OpenQuestion> open_question(const Space& space, const Search& search,
                                          const std::vector<Trial>& trials,
                                          const RecommendOptions& options);

}  // namespace ocrtune
