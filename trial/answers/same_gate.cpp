// All trials of a setting are judged together and anew with each further one, because one alone may
// hold too few answers. tuner/verdict/text_claim.h judges once more at the end of a run.
#include "trial/answers/same_gate.h"

#include <fmt/format.h>

#include "trial/answers/text_doubt.h"

namespace ocrtune {
namespace {

std::vector<const SameResult*> pointers(const std::vector<SameResult>& results) {
  std::vector<const SameResult*> all;
  for (const SameResult& one : results) all.push_back(&one);
  return all;
}

}  // namespace

// The command read all its inputs before its rate was known: its texts are whole.
bool has_read(const Trial& trial) { return trial.ok() || trial.cause == "ended"; }

void SameGate::judge(Trial& trial, bool present, double chance) {
  if (!has_read(trial) || !trial.same.compared()) return;
  // Nothing is judged: these trials are what the others are compared with.
  if (present) return present_.push_back(trial.same);
  std::vector<SameResult>& own = others_[trial.knobs];
  own.push_back(trial.same);
  const SameJudgement judgement =
      judge_same(pointers(own), pointers(present_), max_change_, kTextComparisons);
  const double worse = judgement.error_rate >= 0
                           ? judgement.error_rate - judgement.reference_error_rate
                           : judgement.changed_share;
  // The caller's chance is of the whole setting, so it needs the same share of the doubt and a
  // loss.
  const bool by_lines = chance < kTextDoubt / kTextComparisons && worse > max_change_;
  if (judgement.allowed && !by_lines) return;
  trial.outcome = Outcome::wrong_result;
  trial.cause = kTextCause;
  trial.reason = other_text_words(judgement);
}

std::string small_percent(double share) {
  return share < 0.1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

std::string other_text_words(const SameJudgement& judgement) {
  std::string words = fmt::format(
      "reads {} of {} inputs otherwise than the present setting ({} of the characters)",
      judgement.differing_inputs, judgement.inputs, small_percent(judgement.changed_share));
  if (judgement.error_rate >= 0) {
    words += fmt::format(", {} of the characters wrong instead of {}",
                         small_percent(judgement.error_rate),
                         small_percent(judgement.reference_error_rate));
  }
  if (judgement.examples.empty()) return words;
  return words + fmt::format(", as '{}' for '{}'", judgement.examples[0].read,
                             judgement.examples[0].expected);
}

}  // namespace ocrtune
