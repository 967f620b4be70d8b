#include "tuner/verdict/audit.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

const Setting* best_obeying(const RuleSetting& rule, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {  // best first
    if (setting.works() && setting.summary.knobs.nproc == rule.knobs.nproc) return &setting;
  }
  return nullptr;
}

std::string percent(double fraction) { return fmt::format("{:.0f}", 100 * fraction); }

std::string loss_words(const Interval& loss) {
  if (loss.low <= 0 && loss.high >= 0) {
    return fmt::format("ties ({}..{} %)", percent(loss.low), percent(loss.high));
  }
  if (loss.high < 0) {
    return fmt::format("better by {} % ({}..{} %)", percent(-loss.median), percent(-loss.high),
                       percent(-loss.low));
  }
  return fmt::format("costs {} % ({}..{} %)", percent(loss.median), percent(loss.low),
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
      verdict.verdict = same ? "is what is recommended" : loss_words(verdict.loss);
      if (obeying->crowds_out) verdict.verdict += ", but takes other programs' CPU share";
      if (same) verdict.loss = {};
    } else if (const Setting* failed = find_setting(settings, rule.knobs); failed != nullptr) {
      verdict.setting = failed->summary;
      verdict.verdict = fmt::format("fails: {}", failed->summary.reason.empty()
                                                     ? outcome_name(failed->summary.outcome)
                                                     : failed->summary.reason);
    } else {
      verdict.setting.outcome = Outcome::skipped;
      const Prediction prediction = search.predict(rule.knobs);
      verdict.setting.reason = prediction.reason;
      verdict.verdict = prediction.admitted ? "not run: the budget ended before it"
                                            : fmt::format("does not fit: {}", prediction.reason);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace ocrtune
