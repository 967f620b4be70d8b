// Which setting the next trial is best spent on, by what the models believe.
//
// The value of a trial is by how much the choice after it is expected to be better (knowledge
// gradient): new settings that may be the best, and leaders whose measurements may have been luck,
// compete in one currency. Settings that may break a constraint count by their chance to hold it.
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "tuner/models/forecaster.h"
#include "tuner/search/search_board.h"

namespace ocrtune {

struct Acquired {
  int point = -1;
  double gain = 0;  // expected improvement of the choice, as a logarithm
};

class Acquisition {
 public:
  // Both must outlive this, and nothing may be learned meanwhile; `forecaster` has learned from the
  // board's ledger.
  Acquisition(const SearchBoard& board, Forecaster& forecaster)
      : board_(&board), forecaster_(&forecaster), ranking_(ranked()) {}

  // Nothing: every admitted setting was tried. `random` picks settings that the structured model
  // would pass over. About 10 ms at 5,000 points and 60 trials, and under 20 ms with any number.
  std::optional<Acquired> best(Random& random) const;
  // Probability that some untried setting is better than the best tried one by `share`.
  double chance_of_better(double share, Random& random) const;
  // Eligible tried settings, best first by the objective.
  const std::vector<int>& ranking() const { return ranking_; }

 private:
  const SearchBoard* board_;
  Forecaster* forecaster_;
  std::vector<int> ranking_;

  std::vector<int> ranked() const;
  std::vector<int> candidates(Random& random) const;
  std::optional<Acquired> min_memory(const std::vector<int>& asked) const;
  double value_of(int point, const std::vector<int>& contenders, std::vector<double> means) const;
  double log_floor() const;
  double chance_allowed(const SpeedForecast& speed) const;
  double min_log_rate(int point) const;
};

// E[max_i (means[i] + slopes[i] Z)] - max_i means[i] for Z standard normal; at least 0. `slopes[i]`
// is by how much a measurement one deviation above its expectation raises belief i. Source:
// Frazier, Powell and Dayanik 2009, "The knowledge-gradient policy for correlated normal beliefs",
// section 4.
double knowledge_gradient(const std::vector<double>& means, const std::vector<double>& slopes);

}  // namespace ocrtune
