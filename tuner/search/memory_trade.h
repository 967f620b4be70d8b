// Fewer processes, or fewer threads, in exchange for more of another knob, where memory does not
// hold both.
//
// The step from eight processes with one loader each to two with four leads through settings that
// are slower than either, or do not fit: one knob at a time never gets there, and a model that saw
// no such setting does not ask for it. What the memory model has identified says which fit.
#pragma once

#include <functional>
#include <optional>

#include "tuner/search/search_board.h"

namespace ocrtune {

// An untried setting of fewer processes than `leader`, or of as many with fewer threads, with more
// loader workers, a larger batch or more threads than any trial had beside as few, for a knob whose
// next value memory does not hold beside the rest of the leader. Nothing: memory holds each, or no
// such setting is likely to fit. `likely_to_fit` says of an untried setting whether it may run and
// most likely fits.
std::optional<int> memory_trade(const SearchBoard& board, int leader,
                                const std::function<bool(int)>& likely_to_fit);

}  // namespace ocrtune
