// The race: the leaders measured again, interleaved in rounds, the slower ones dropped.
//
// Every survivor runs once per round in a shuffled order, so that drift of the machine meets all of
// them alike; before each round those that are clearly behind leave, and so many more that the rest
// of the budget can tell the survivors apart (successive rejects, Audibert, Bubeck and Munos 2010).
// The claim of a tune rests on these repeats.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "tuner/models/ledger.h"

namespace ocrtune {

// What is believed of a point by now: the logarithm of its rate, and how sure that is.
struct Standing {
  double log_rate = 0;
  double stddev = 1;
};
using StandingOf = std::function<Standing(int point)>;

struct RaceOptions {
  int max_trials = 24;
  double settled = 0.004;  // deviation of the winner's rate that ends a race of one
  std::uint64_t seed = 1;
  // A point that runs beside the leaders for `baseline_rounds`, so that a ratio to it is one of
  // neighbours in time: the user's own setting. -1: none.
  int baseline = -1;
  int baseline_rounds = 3;
};

class Race {
 public:
  Race() = default;
  Race(std::vector<int> leaders, RaceOptions options);

  bool started() const { return !runners_.empty() || trials_ > 0; }
  int round() const { return round_; }

  // The next point to run; nothing when the race is settled or `trials_left` is used up.
  std::optional<int> next(const Ledger& ledger, const StandingOf& standing, int trials_left);

 private:
  std::vector<int> runners_;  // still in the race
  std::vector<int> order_;    // of the round under way, last one first
  RaceOptions options_;
  Random random_{1};
  int round_ = 0;
  int trials_ = 0;

  void start_round(const Ledger& ledger, const StandingOf& standing, int trials_left);
};

}  // namespace ocrtune
