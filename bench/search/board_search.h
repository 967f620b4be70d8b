// What strategies without a model have in common.
#pragma once

#include <string>

#include "tuner/search/search_board.h"

namespace ocrtune {

// A strategy that knows no more than the board.
class BoardSearch : public Search {
 public:
  void tell(const Trial& trial) override { board.tell(trial); }
  std::string stop_reason() const override { return board.stop_reason; }
  const Objective& objective() const override { return board.options.objective; }
  Prediction predict(const Knobs& knobs) const override { return board.measured(knobs); }

 protected:
  BoardSearch(const Space& space, const SearchOptions& options) : board(space, options) {}

  SearchBoard board;
};

}  // namespace ocrtune
