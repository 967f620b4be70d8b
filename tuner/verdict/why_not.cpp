// One setting by the state that it is in: recommended, run, outside of the space, or predicted.
// Words and ratios are those of the verdict, so that both say the same.
#include "tuner/verdict/why_not.h"

#include <algorithm>

#include "tuner/models/long_look.h"
#include "tuner/verdict/beside_load.h"
#include "tuner/verdict/explain.h"
#include "tuner/verdict/possible.h"

namespace ocrtune {
namespace {

void compare(WhyNot& why, const TuneResult& result) {
  const Interval& chosen = result.recommendation.samples_per_second;
  if (!result.found || chosen.median <= 0 || why.samples_per_second.median <= 0) return;
  const Interval& rate = why.samples_per_second;
  why.ratio = {rate.median / chosen.median, rate.low / chosen.high, rate.high / chosen.low};
}

Reason rate_beside_recommended(const WhyNot& why, Unit unit) {
  const Number rate{why.samples_per_second.median, unit};
  if (why.ratio.median <= 0) return reason<ReasonCode::worth_rate>(rate);
  const Reason difference = compared(why.ratio.median);
  return difference.is(ReasonCode::as_fast)
             ? reason<ReasonCode::rate_as_recommended>(rate, difference)
             : reason<ReasonCode::rate_than_recommended>(rate, difference);
}

void from_setting(WhyNot& why, const Setting& setting, const TuneResult& result, Unit unit) {
  const SettingSummary& summary = setting.summary;
  why.peak_bytes = why.peak_high_bytes = static_cast<double>(summary.peak_bytes);
  if (!setting.works()) {
    why.kind = WhyNotKind::failed;
    why.answer = reason<ReasonCode::was_run_and_ended>(failure_of(summary));
    return;
  }
  why.kind = WhyNotKind::measured;
  why.samples_per_second = summary.samples_per_second;
  compare(why, result);
  const auto same = [&](const SettingSummary& tie) { return tie.knobs == why.knobs; };
  if (std::any_of(result.ties.begin(), result.ties.end(), same)) {
    SettingSummary chosen;
    chosen.knobs = result.recommendation.knobs;
    chosen.peak_bytes = result.recommendation.peak_bytes;
    const Reason more = needs_more(summary, chosen);
    why.answer = more.empty() ? reason<ReasonCode::ties_with_recommended>()
                              : reason<ReasonCode::ties_with_recommended_and_needs>(more);
    return;
  }
  const double limit = static_cast<double>(result.recommendation.limit_bytes);
  Reason peak;
  if (limit > 0 && why.peak_bytes > 0) {
    peak = reason<ReasonCode::its_peak>(in_bytes(why.peak_bytes), in_bytes(limit));
  }
  why.answer = reason<ReasonCode::was_measured>(counted(summary.trials),
                                                rate_beside_recommended(why, unit), peak);
  if (why.ratio.low < 1 && why.ratio.high > 1) {
    why.to_find_out = reason<ReasonCode::measure_both_again>();
  }
}

// The bound that certificate and next experiment speak of: over the recommended rate as stated.
void compare_prediction(WhyNot& why, const TuneResult& result) {
  const double chosen = result.recommendation.samples_per_second.median;
  if (!result.found || chosen <= 0 || why.samples_per_second.median <= 0) return;
  const Interval& rate = why.samples_per_second;
  why.ratio = {rate.median / chosen, rate.low / chosen, rate.high / chosen};
}

void from_prediction(WhyNot& why, const Prediction& prediction, const TuneResult& result,
                     Unit unit) {
  why.samples_per_second = prediction.samples_per_second;
  why.peak_bytes = prediction.memory.bytes;
  why.peak_high_bytes = prediction.memory.high_bytes;
  compare_prediction(why, result);
  if (!prediction.admitted) {
    why.kind = WhyNotKind::refused;
    why.answer = reason<ReasonCode::was_not_launched>(prediction.reason);
    why.to_find_out = reason<ReasonCode::give_more_memory>();
    return;
  }
  if (why.samples_per_second.median <= 0) {
    why.answer = reason<ReasonCode::was_not_predicted>();
    why.to_find_out = reason<ReasonCode::allow_longer_budget>();
    return;
  }
  why.kind = WhyNotKind::predicted;
  Reason better;
  // Predictions are of an idle machine.
  if (why.ratio.high > 1 && !result.verdict.beside_load) {
    better = reason<ReasonCode::could_be_better>(counted(percent_of_gain(why.ratio.high - 1)));
  }
  why.answer = reason<ReasonCode::was_predicted>(rate_beside_recommended(why, unit),
                                                 as_rate(why.samples_per_second.low),
                                                 as_rate(why.samples_per_second.high), better);
  why.to_find_out = reason<ReasonCode::one_trial_of_it>();
}

}  // namespace

WhyNot why_not(const Knobs& knobs, const Space& space, const Search& search,
               const std::vector<Trial>& trials, const TuneResult& result) {
  WhyNot why;
  why.knobs = knobs;
  // Beside load the answer is of rates as they were measured, and so is what stands beside it.
  const bool loaded = result.verdict.beside_load;
  const std::vector<Setting> settings =
      settings_of(loaded ? as_measured(trials) : trials, result.noise, search.objective());
  const Setting* setting = find_setting(settings, knobs);
  if (result.found && knobs == result.recommendation.knobs) {
    why.kind = WhyNotKind::chosen;
    why.samples_per_second = result.recommendation.samples_per_second;
    why.peak_bytes = why.peak_high_bytes = static_cast<double>(result.recommendation.peak_bytes);
    why.ratio = {1, 1, 1};
    why.answer = reason<ReasonCode::is_recommended>();
  } else if (setting != nullptr) {
    from_setting(why, *setting, result, search.objective().rate);
  } else if (space.find(knobs) < 0) {
    why.kind = WhyNotKind::outside;
    why.answer = reason<ReasonCode::outside_searched_space>();
    why.to_find_out = reason<ReasonCode::name_its_values>();
  } else {
    Prediction prediction = search.predict(knobs);
    // The verdict may have scaled its predictions to the load: the same number is told here.
    const auto told = std::ranges::find(result.predicted, knobs, &PredictedSetting::knobs);
    if (told != result.predicted.end()) prediction.samples_per_second = told->samples_per_second;
    from_prediction(why, prediction, result, search.objective().rate);
  }
  return why;
}

Result<WhyNot> why_not(const std::vector<std::string>& assignments, const Space& space,
                       const Search& search, const RunRecord& run) {
  const auto asked = OCRTUNE_TRY(parse_knobs(assignments));
  std::vector<std::string> own;
  for (const auto& [name, values] : run.search.axes) own.push_back(name);
  OCRTUNE_TRY(check_knob_names(asked, own, run.job.command()));
  Knobs knobs = run.result.found ? run.result.recommendation.knobs : run.search.baseline;
  std::string untouched;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    OCRTUNE_TRY(set_knob(knobs, name, assignment.substr(equals + 1)));
    if (run.search.absent.contains(name)) untouched = name;
  }
  if (untouched.empty()) {
    // The verdict was made of these.
    const auto trials = by_long_look(run.trials, long_look(run.trials));
    return why_not(knobs, space, search, trials, run.result);
  }
  WhyNot why;
  why.knobs = knobs;
  why.kind = WhyNotKind::outside;
  why.answer = reason<ReasonCode::knob_not_varied>(untouched);
  why.to_find_out = reason<ReasonCode::name_its_values>();
  return why;
}

}  // namespace ocrtune
