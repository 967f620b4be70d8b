// Large spaces: a safe initial design, then expected improvement under a model, then a race of the
// leaders.
#pragma once

#include <memory>

#include "tuner/search/search.h"

namespace ocrtune {

std::unique_ptr<Search> make_model_search(const Space& space, const SearchOptions& options);

}  // namespace ocrtune
