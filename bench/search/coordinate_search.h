// Coordinate descent: from a sane setting, one knob at a time, on while it gets better.
#pragma once

#include <memory>

#include "tuner/search/search.h"

namespace ocrtune {

std::unique_ptr<Search> make_coordinate_search(const Space& space, const SearchOptions& options);

}  // namespace ocrtune
