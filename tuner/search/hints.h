// What an earlier run found, for the start of a search: settings to try early, never their rates.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tuner/recommendation.h"
#include "tuner/space/space.h"

namespace ocrtune {

struct SearchBoard;

// The fastest settings of a run that worked, best first: of each number of processes and threads
// the best one, at most three.
std::vector<Knobs> hints_of(const TuneResult& earlier);

// The points of the space that are nearest to them, each once.
std::vector<int> hint_points(const Space& space, const std::vector<Knobs>& hints);

// Gives hints one by one, as long as the earlier run ranks settings as this run does.
class HintQueue {
 public:
  explicit HintQueue(std::vector<int> points) : points_(std::move(points)) {}

  std::optional<int> next(const SearchBoard& board, int max_trials);
  int tried() const { return static_cast<int>(tried_.size()); }

 private:
  std::vector<int> points_, tried_;

  bool holds(const SearchBoard& board) const;
};

}  // namespace ocrtune
