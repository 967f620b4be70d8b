#include "tuner/verdict/audit.h"

namespace ocrtune {
namespace {

const Setting* best_obeying(const RuleSetting& rule, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {  // best first
    if (setting.works() && setting.summary.knobs.nproc == rule.knobs.nproc) return &setting;
  }
  return nullptr;
}

Number percent(double fraction) { return decimal(100 * fraction, 0); }

Reason loss_reason(const Interval& loss) {
  if (loss.low <= 0 && loss.high >= 0) {
    return reason<ReasonCode::rule_ties>(percent(-loss.low), percent(loss.high));
  }
  if (loss.high < 0) {
    return reason<ReasonCode::rule_better>(percent(-loss.median), percent(-loss.high),
                                           percent(-loss.low));
  }
  return reason<ReasonCode::rule_costs>(percent(loss.median), percent(loss.low),
                                        percent(loss.high));
}

}  // namespace

std::vector<RuleVerdict> audit_rules(const std::vector<RuleSetting>& rules,
                                     const std::vector<Setting>& settings, const Setting& chosen,
                                     const Search& search) {
  std::vector<RuleVerdict> verdicts;
  for (const RuleSetting& rule : rules) {
    RuleVerdict verdict;
    verdict.name = rule.name;
    verdict.text = rule.text;
    verdict.setting.knobs = rule.knobs;
    const Setting* obeying = best_obeying(rule, settings);
    if (obeying != nullptr) {
      verdict.setting = obeying->summary;
      const Interval ratio = ratio_interval(*obeying, chosen);
      verdict.loss = {1 - ratio.median, 1 - ratio.high, 1 - ratio.low};
      const bool same = obeying->summary.knobs == chosen.summary.knobs;
      verdict.verdict =
          same ? reason<ReasonCode::rule_is_recommended>() : loss_reason(verdict.loss);
      if (obeying->crowds_out) {
        verdict.verdict = reason<ReasonCode::rule_crowds_out>(verdict.verdict);
      }
      if (same) verdict.loss = {};
    } else if (const Setting* failed = find_setting(settings, rule.knobs); failed != nullptr) {
      verdict.setting = failed->summary;
      verdict.verdict = reason<ReasonCode::rule_fails>(failed->summary.reason.empty()
                                                           ? outcome_reason(failed->summary.outcome)
                                                           : failed->summary.reason);
    } else {
      verdict.setting.outcome = Outcome::skipped;
      const Prediction prediction = search.predict(rule.knobs);
      verdict.setting.reason = prediction.reason;
      verdict.verdict = prediction.admitted
                            ? reason<ReasonCode::rule_not_run>()
                            : reason<ReasonCode::rule_does_not_fit>(prediction.reason);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace ocrtune
