// Small spaces: every setting once, then rounds over those that could still be the best.
//
// Exact where the noise allows it, and simple. Meant for at most about 150 points. A budget that
// does not hold a trial for each leaves the choice to the model search.
#pragma once

#include <memory>

#include "tuner/search/search.h"

namespace ocrtune {

inline constexpr int kSmallSpace = 150;

std::unique_ptr<Search> make_sweep_search(const Space& space, const SearchOptions& options);

}  // namespace ocrtune
