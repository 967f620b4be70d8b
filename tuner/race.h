// The race: the leaders measured again, interleaved in rounds, the slower ones dropped.
//
// Every survivor runs once per round in a shuffled order, so that drift of the machine meets all of
// them alike; after each round those that are clearly behind leave (successive rejects, Audibert,
// Bubeck and Munos 2010). The claim of a tune rests on these repeats alone.
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "tuner/ledger.h"

namespace ocrtune {

struct RaceOptions {
  double noise = 0.03;  // relative, between repeats
  int least_rounds = 3;
  std::uint64_t seed = 1;
};

class Race {
 public:
  Race() = default;
  Race(std::vector<int> leaders, RaceOptions options);

  bool started() const { return !all_.empty(); }
  const std::vector<int>& runners() const { return runners_; }  // still in the race
  int round() const { return round_; }

  // The next point to run; nothing when `trials_left` cannot hold another useful trial.
  std::optional<int> next(const Ledger& ledger, int trials_left);

 private:
  std::vector<int> all_;
  std::vector<int> runners_;
  std::vector<int> order_;  // of the round under way, last one first
  RaceOptions options_;
  Random random_{1};
  int round_ = 0;

  void drop_slow(const Ledger& ledger, int trials_left);
};

// log(rate a) - log(rate b) over the rounds that both ran: the mean, with its standard error.
struct PairedDifference {
  double mean = 0;
  double error = 0;  // large when fewer than two rounds are shared
  int rounds = 0;
};
PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b,
                                   double noise);

}  // namespace ocrtune
