// Coordinate descent: from a sane setting, one knob at a time, on while it gets better.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "tuner/models/ledger.h"
#include "tuner/search/search.h"

namespace ocrtune {

// All usable CPUs shared by a quarter as many processes, a middle batch, few loaders; the nearest
// point of the space that `admitted` allows. -1 when nothing is admitted.
int sane_start(const Space& space, double cores, const std::function<bool(int)>& admitted);

// The next untried point of a descent around the best point so far; nothing at a local optimum.
std::optional<int> coordinate_step(const Ledger& ledger, int start,
                                   const std::function<bool(int)>& admitted);

// `careful`: with the memory model and a final race; else only dominance, and the best single
// measurement wins (how others do it, for comparison).
std::unique_ptr<Search> make_coordinate_search(const Space& space, const SearchOptions& options,
                                               bool careful);

}  // namespace ocrtune
