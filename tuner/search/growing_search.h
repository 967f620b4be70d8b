// A search whose lists go on where the evidence asks for it.
//
// A list that ocrtune made itself ends somewhere: loader workers at the number of CPUs. A program
// that waits for a disk or a network wants more. Where the best setting has the last value of such
// a list, is clearly faster than with a smaller one, and leaves CPUs idle, the list gets twice that
// value, up to SearchOptions::further. What it decides rests on the trials it was told alone, so a
// run that is judged later has the same space.
#pragma once

#include <memory>

#include "tuner/search/search.h"

namespace ocrtune {

// What `make` makes, anew for each space that a list which goes on gives. Without
// SearchOptions::further, or without such lists in the space, it is that alone.
std::unique_ptr<Search> make_growing_search(const Space& space, const SearchOptions& options,
                                            SearchMaker make);

}  // namespace ocrtune
