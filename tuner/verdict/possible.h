// How much faster than the chosen setting anything else of the space may still be: one number, for
// the certificate, for the next experiment and for `why-not` alike.
//
// It is about every setting that may work: those not launched only because their memory is not
// known well enough count too.
#pragma once

#include <vector>

#include "tuner/search/search.h"
#include "tuner/verdict/explain.h"

namespace ocrtune {

// That the best may be five times as fast is no claim worth making.
inline constexpr double kMaxCertifiedGain = 4;
// Below it a longer search is not worth advising.
inline constexpr double kSmallGain = 0.05;

struct PossibleGain {
  double gain = -1;              // 95 % bound, relative to the chosen setting; below 0: unknown
  const Knobs* knobs = nullptr;  // whose bound that is, if untried; null: of one that has run
  const Knobs* rival = nullptr;  // the same, tried or not; null: nothing is left to find out
};

// What `prediction` may reach at 95 %, over the chosen setting's estimate.
double possible_ratio(const Prediction& prediction, double chosen_objective);

PossibleGain possible_gain(const Space& space, const Search& search, const Choice& verdict,
                           const std::vector<Setting>& settings);

int percent_of_gain(double gain);  // rounded up, at least 1

// What a longer search should try, and whether stopping is fine: it is where the answer is
// `settled` and nothing else can be kSmallGain faster. Empty when nothing is left to find out.
Reason next_experiment(const Choice& verdict, const PossibleGain& possible, bool settled);

}  // namespace ocrtune
