// Texts of all trials of a setting are judged together by judge_same(); a setting that reads
// otherwise is moved behind those that work. The fastest of these is still named, so that the user
// knows the price.
#include "tuner/verdict/text_claim.h"

#include <algorithm>
#include <string_view>

#include "base/stats.h"
#include "trial/answers/same_gate.h"
#include "tuner/verdict/beside_load.h"

namespace ocrtune {
namespace {

std::vector<const SameResult*> texts_of(const std::vector<Trial>& trials, const Knobs& knobs) {
  std::vector<const SameResult*> texts;
  for (const Trial& trial : trials) {
    const bool read = has_read(trial) || trial.cause == kTextCause;
    if (read && trial.knobs == knobs) texts.push_back(&trial.same);
  }
  return texts;
}

// Of a setting that was turned away for its text alone; none: all zero. `as_told`: rates are told
// as they were measured beside other load.
Interval rate_of_refused(const std::vector<Trial>& trials, const SettingSummary& setting,
                         bool as_told) {
  std::vector<double> rates;
  // Then trials that seemed good are refused as well, and their rates count.
  const bool all = setting.same.differs && !setting.same.allowed;
  for (const Trial& trial : trials) {
    const bool refused = trial.outcome == Outcome::wrong_result && trial.cause == kTextCause;
    const double rate = as_told ? measured_rate(trial) : trial.samples_per_second;
    if ((refused || (all && trial.ok())) && trial.knobs == setting.knobs && rate > 0) {
      rates.push_back(rate);
    }
  }
  if (rates.empty()) return {};
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  return {median(rates), *low, *high};
}

}  // namespace

void weigh_texts(const std::vector<Trial>& trials, const Knobs& present, double max_change,
                 std::vector<Setting>& settings) {
  const auto reference = texts_of(trials, present);
  for (Setting& setting : settings) {
    SettingSummary& summary = setting.summary;
    summary.same =
        judge_same(texts_of(trials, summary.knobs), reference, max_change, kTextComparisons);
    // The present setting is the measure of all others.
    if (summary.knobs == present) summary.same.differs = false;
    if (!setting.works() || !summary.same.differs || summary.same.allowed) continue;
    summary.outcome = Outcome::wrong_result;
    summary.reason = verbatim(other_text_words(summary.same));
  }
  put_working_first(settings);
}

void claim_texts(const std::vector<Trial>& trials, TuneResult& result) {
  const Interval& best = result.recommendation.samples_per_second;
  for (const SettingSummary& setting : result.settings) {
    if (setting.knobs == result.recommendation.knobs && setting.same.compared) {
      result.verdict.text = setting.same.differs ? TextClaim::allowed : TextClaim::same;
    }
    const Interval rate = rate_of_refused(trials, setting, result.verdict.beside_load);
    if (!(rate.median > best.median) || !(best.low > 0)) continue;
    if (result.other_text && result.other_text->ratio.median > rate.median / best.median) continue;
    result.other_text = {setting.knobs,
                         {rate.median / best.median, rate.low / best.high, rate.high / best.low},
                         setting.same};
  }
}

std::vector<Reason> text_reasons(const SameResult& same) {
  std::vector<Reason> reasons;
  switch (same.not_compared) {
    case NotCompared::no_text:
      reasons.push_back(reason<ReasonCode::text_none>());
      break;
    case NotCompared::all_varies:
      reasons.push_back(reason<ReasonCode::text_varies>());
      break;
    case NotCompared::all_alike:
      reasons.push_back(reason<ReasonCode::text_all_alike>());
      break;
    case NotCompared::no_answers:
      reasons.push_back(reason<ReasonCode::text_no_answers>());
      break;
    case NotCompared::no_reference:
      reasons.push_back(reason<ReasonCode::text_no_reference>());
      break;
    case NotCompared::no:
    case NotCompared::not_asked:  // nobody expects a text of training
      break;
  }
  if (same.wrong_in_flight > 0 && same.swapped_answers > 0) {
    reasons.push_back(reason<ReasonCode::texts_swapped_in_flight>(
        counted(same.wrong_in_flight), counted(same.wrong_answers), counted(same.wrong_of_answers),
        counted(same.swapped_answers)));
  } else if (same.wrong_in_flight > 0) {
    reasons.push_back(reason<ReasonCode::texts_wrong_in_flight>(counted(same.wrong_in_flight),
                                                                counted(same.wrong_answers),
                                                                counted(same.wrong_of_answers)));
  }
  if (same.repeat_speedup > 0) {
    reasons.push_back(same.varied
                          ? reason<ReasonCode::cache_passed_over>(general(same.repeat_speedup, 2))
                          : reason<ReasonCode::cache_may_answer>(general(same.repeat_speedup, 2)));
  }
  return reasons;
}

SameJudgement recommended_text(const TuneResult& result) {
  for (const SettingSummary& setting : result.settings) {
    if (setting.knobs == result.recommendation.knobs) return setting.same;
  }
  return {};
}

}  // namespace ocrtune
