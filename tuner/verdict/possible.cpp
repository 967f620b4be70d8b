// One pass over settings that ran, by their ratio's upper end, and one over those that did not, by
// the search's prediction. The largest is the certificate.
#include "tuner/verdict/possible.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tuner/verdict/choice.h"

namespace ocrtune {
namespace {

constexpr double kNoGain = 0.01;

}  // namespace

double possible_ratio(const Prediction& prediction, double chosen_objective) {
  return prediction.objective_value.high / chosen_objective;
}

PossibleGain possible_gain(const Space& space, const Search& search, const Choice& verdict,
                           const std::vector<Setting>& settings) {
  PossibleGain found;
  if (verdict.objective.goal == Goal::memory) return found;
  double most = 0;
  std::set<Knobs> run;
  for (const Setting& other : settings) {
    run.insert(other.summary.knobs);
    if (&other == verdict.chosen || !other.works() || other.set_aside()) continue;
    if (!keeps_recipe(verdict.recipe_batch, other.summary.knobs)) continue;
    if (breaks(other, verdict.objective)) continue;
    const double gain = ratio_interval(other, *verdict.chosen).high - 1;
    if (gain <= most) continue;
    most = gain;
    found.rival = &other.summary.knobs;
  }
  bool unknown = false;
  for (const Knobs& knobs : space.points()) {
    if (run.count(knobs) > 0) continue;
    if (!keeps_recipe(verdict.recipe_batch, knobs)) continue;
    const Prediction prediction = search.predict(knobs);
    if (!prediction.may_work) continue;
    // Nothing bounds a setting without a prediction: then the whole certificate is open.
    if (prediction.objective_value.median <= 0) {
      if (!unknown) found.knobs = found.rival = &knobs;
      unknown = true;
      continue;
    }
    const double gain = possible_ratio(prediction, verdict.chosen->estimate.median) - 1;
    if (gain <= most) continue;
    most = gain;
    if (!unknown) found.knobs = found.rival = &knobs;
  }
  found.gain = unknown || most > kMaxCertifiedGain ? -1 : most;
  return found;
}

int percent_of_gain(double gain) {
  return std::max(1, static_cast<int>(std::ceil(100 * gain - 1e-9)));
}

Reason next_experiment(const Choice& verdict, const PossibleGain& possible, bool settled) {
  const bool small = settled && possible.gain >= 0 && possible.gain <= kSmallGain;
  if (possible.gain < 0 && possible.knobs != nullptr) {
    return reason<ReasonCode::unpredicted_setting>(knobs_text(*possible.knobs));
  }
  if (possible.gain > kNoGain && possible.knobs != nullptr) {
    const Reason gain = compared(1 + 0.01 * percent_of_gain(possible.gain), verdict.objective.goal);
    return {small ? ReasonCode::next_best : ReasonCode::not_conclusive,
            {knobs_text(*possible.knobs), gain}};
  }
  const int rounds = static_cast<int>(verdict.chosen->rates.size());
  if (rounds == 0 || verdict.noise <= 0) return {};
  // Half of an interval takes four times the repeats: three times as many more, of two settings.
  const double seconds = std::max(3.0 * rounds * verdict.trial_seconds * 2, 1.0);
  return {small ? ReasonCode::interval_to_halve_or_stop : ReasonCode::interval_to_halve,
          {in_seconds(seconds), knobs_text(verdict.chosen->summary.knobs)}};
}

}  // namespace ocrtune
