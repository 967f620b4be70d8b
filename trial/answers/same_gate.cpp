#include "trial/answers/same_gate.h"

#include <fmt/format.h>

namespace ocrtune {
namespace {

constexpr int kComparisons = 20;  // settings of a tune, which share the doubt

}  // namespace

void SameGate::judge(Trial& trial, bool present) {
  if (!trial.ok() || !trial.same.compared()) return;
  if (present) return present_.push_back(trial.same);
  std::vector<const SameResult*> reference;
  for (const SameResult& one : present_) reference.push_back(&one);
  const SameJudgement judgement = judge_same({&trial.same}, reference, max_change_, kComparisons);
  if (judgement.allowed) return;
  trial.outcome = Outcome::wrong_result;
  trial.cause = kTextCause;
  trial.reason = other_text_words(judgement);
}

std::string other_text_words(const SameJudgement& judgement) {
  std::string words = fmt::format(
      "reads {} of {} inputs otherwise than the present setting ({:.2g} % of the characters)",
      judgement.differing_inputs, judgement.inputs, 100 * judgement.changed_share);
  if (judgement.error_rate >= 0) {
    words += fmt::format(", {:.2g} % of the characters wrong instead of {:.2g} %",
                         100 * judgement.error_rate, 100 * judgement.reference_error_rate);
  }
  if (judgement.examples.empty()) return words;
  return words + fmt::format(", as '{}' for '{}'", judgement.examples[0].read,
                             judgement.examples[0].expected);
}

}  // namespace ocrtune
