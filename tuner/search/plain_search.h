// Strategies without a model, for comparison: random order, table order, and successive halving.
//
// As elsewhere, the best single measurement wins, nothing is re-measured except by halving, and
// memory is found out by running out of it.
#pragma once

#include <memory>

#include "tuner/search/search.h"

namespace ocrtune {

std::unique_ptr<Search> make_random_search(const Space& space, const SearchOptions& options);
std::unique_ptr<Search> make_exhaustive_search(const Space& space, const SearchOptions& options);
// A third of the budget on random settings, then the better half again and again.
std::unique_ptr<Search> make_halving_search(const Space& space, const SearchOptions& options);

}  // namespace ocrtune
