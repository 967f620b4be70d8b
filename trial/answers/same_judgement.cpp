// Judges answers that differ: per load within a trial, and per setting over all its trials.
#include "trial/answers/same_judgement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/normal.h"
#include "trial/answers/text_doubt.h"

namespace ocrtune {
namespace {

// Convolutions cost the square of the sum; beyond it the normal limit is near enough (a guess).
constexpr std::int64_t kExactDiffering = 300;

// Logarithms, because factorials of hundreds of answers overflow a double.
double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// An input without a difference, or with one side alone, adds nothing to the sum.
bool tells(const AnswerStratum& one) {
  return one.base_answers > 0 && one.answers > 0 && one.base_differing + one.differing > 0;
}

// Chances of 0, 1, ... differing answers on the second side.
// Differing answers are drawn from both sides' answers: Fisher's table of one input.
std::vector<double> hypergeometric(const AnswerStratum& one) {
  const auto answers = static_cast<double>(one.answers);
  const auto all = static_cast<double>(one.answers + one.base_answers);
  const std::int64_t drawn = one.differing + one.base_differing;
  std::vector<double> chances(static_cast<std::size_t>(drawn) + 1, 0.0);
  for (std::int64_t i = std::max<std::int64_t>(0, drawn - one.base_answers);
       i <= std::min(drawn, one.answers); ++i) {
    const auto here = static_cast<double>(i);
    const auto there = static_cast<double>(drawn - i);
    chances[static_cast<std::size_t>(i)] =
        std::exp(log_choose(answers, here) + log_choose(all - answers, there) -
                 log_choose(all, static_cast<double>(drawn)));
  }
  return chances;
}

double exact_chance(const std::vector<AnswerStratum>& inputs) {
  std::vector<double> sum = {1.0};
  std::int64_t seen = 0;
  for (const AnswerStratum& one : inputs) {
    if (!tells(one)) continue;
    seen += one.differing;
    const std::vector<double> chances = hypergeometric(one);
    // The sum's distribution is the convolution of the inputs' own.
    std::vector<double> next(sum.size() + chances.size() - 1, 0.0);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      for (std::size_t k = 0; k < chances.size(); ++k) next[i + k] += sum[i] * chances[k];
    }
    sum.swap(next);
  }
  double chance = 0;
  for (std::size_t i = static_cast<std::size_t>(seen); i < sum.size(); ++i) chance += sum[i];
  return std::min(1.0, chance);
}

double normal_chance(const std::vector<AnswerStratum>& inputs) {
  double excess = 0, variance = 0;
  for (const AnswerStratum& one : inputs) {
    if (!tells(one)) continue;
    const auto n = static_cast<double>(one.answers);
    const auto m = static_cast<double>(one.base_answers);
    const auto d = static_cast<double>(one.differing + one.base_differing);
    excess += static_cast<double>(one.differing) - n * d / (n + m);
    variance += n * m * d * (n + m - d) / ((n + m) * (n + m) * std::max(1.0, n + m - 1));
  }
  if (variance <= 0) return 1;
  // With the correction for continuity, because counts are whole.
  return normal_cdf((0.5 - excess) / std::sqrt(variance));
}

// Of inputs that always differ here and never there. Where the present setting has repeated each of
// its inputs without a difference, an input whose text is left to chance is rare beforehand.
double chance_of_steady_change(const std::vector<AnswerStratum>& inputs, double steady_inputs) {
  std::vector<AnswerStratum> steady;
  for (const AnswerStratum& one : inputs) {
    if (one.base_differing > 0) return 1;
    const bool repeated = one.answers > 1 && one.base_answers > 1;
    if (repeated && one.differing == one.answers) steady.push_back(one);
  }
  if (steady.empty()) return 1;
  return chance_of_differing(steady) * kHiddenVariation / (1 + steady_inputs);
}

// Of differences at all, where both sides compute each text anew in one way and the present setting
// has never read another. Its first texts may be all that it read, of a trial that was cut short.
bool surely_differs(const std::vector<const SameResult*>& setting,
                    const std::vector<const SameResult*>& present) {
  const auto steady = [](const SameResult* one) {
    return one->repeatable && one->differing.empty();
  };
  return std::all_of(present.begin(), present.end(), steady) &&
         std::any_of(setting.begin(), setting.end(), [](const SameResult* one) {
           return one->repeatable && !one->differing.empty();
         });
}

// For inputs that a trial does not list: their answers are not kept one by one.
double per_input(const SameResult& result) {
  return std::max(1.0, static_cast<double>(result.answers) /
                           static_cast<double>(std::max<std::int64_t>(1, result.inputs)));
}

struct InputSum {
  AnswerStratum answers;
  double changed = 0, errors = 0, reference_errors = 0;  // of the mean answer, in edits
};

// Inputs that differ on either side; an input that a trial does not list had all its answers alike.
std::map<std::int64_t, InputSum> sums_of(const std::vector<const SameResult*>& setting,
                                         const std::vector<const SameResult*>& present) {
  std::map<std::int64_t, InputSum> sums;
  for (const auto& side : {setting, present}) {
    for (const SameResult* result : side) {
      for (const InputDifference& one : result->differing) sums[one.input];
    }
  }
  for (auto& entry : sums) {
    const auto& input = entry.first;
    auto& sum = entry.second;
    const auto add = [&](const SameResult& result, std::int64_t& answers, std::int64_t& differing) {
      const auto found = std::find_if(result.differing.begin(), result.differing.end(),
                                      [&](const auto& one) { return one.input == input; });
      const bool listed = found != result.differing.end();
      answers += listed ? found->answers : std::llround(per_input(result));
      if (listed) differing += found->differing;
      return listed ? &*found : nullptr;
    };
    for (const SameResult* result : present) {
      add(*result, sum.answers.base_answers, sum.answers.base_differing);
    }
    for (const SameResult* result : setting) {
      const InputDifference* one = add(*result, sum.answers.answers, sum.answers.differing);
      if (one == nullptr) continue;
      // The mean answer of the whole setting: differing answers by their share, trials alike.
      const double share = static_cast<double>(one->differing) /
                           static_cast<double>(std::max<std::int64_t>(1, one->answers)) /
                           static_cast<double>(setting.size());
      sum.changed += share * static_cast<double>(one->characters);
      if (one->errors < 0) continue;
      sum.errors += share * static_cast<double>(one->errors);
      sum.reference_errors += share * static_cast<double>(one->reference_errors);
    }
  }
  return sums;
}

}  // namespace

double chance_of_differing(const std::vector<AnswerStratum>& inputs) {
  std::int64_t differing = 0;
  for (const AnswerStratum& one : inputs) {
    if (tells(one)) differing += one.differing + one.base_differing;
  }
  if (differing == 0) return 1;
  return differing <= kExactDiffering ? exact_chance(inputs) : normal_chance(inputs);
}

SameJudgement judge_same(const std::vector<const SameResult*>& setting,
                         const std::vector<const SameResult*>& present, double max_change,
                         int comparisons) {
  SameJudgement judgement;
  std::vector<const SameResult*> ours, theirs;
  for (const SameResult* one : setting) {
    // A setting that was compared in only one of its trials has that one alone.
    if (one->compared()) ours.push_back(one);
    if (!one->compared()) judgement.not_compared = one->not_compared;
    // The fewest requests in flight at which any of its trials went wrong.
    const bool first =
        judgement.wrong_in_flight == 0 || one->wrong_in_flight < judgement.wrong_in_flight;
    if (one->wrong_in_flight == 0 || !first) continue;
    judgement.wrong_in_flight = one->wrong_in_flight;
    judgement.wrong_answers = one->wrong_answers;
    judgement.wrong_of_answers = one->wrong_of_answers;
    judgement.swapped_answers = one->swapped_answers;
  }
  for (const SameResult* one : present) {
    // One text for every input is no reference by itself, but another text in its place differs.
    if (one->compared() || one->not_compared == NotCompared::all_alike) theirs.push_back(one);
  }
  if (ours.empty()) return judgement;
  judgement.compared = true;
  judgement.not_compared = NotCompared::no;
  const auto sums = sums_of(ours, theirs);
  std::vector<AnswerStratum> inputs;
  double changed = 0, errors = 0;
  for (const auto& [input, sum] : sums) {
    inputs.push_back(sum.answers);
    judgement.differing_inputs += sum.answers.differing > 0 ? 1 : 0;
    changed += sum.changed;
    errors += sum.errors - sum.reference_errors;
  }
  double characters = 0, truth = 0;
  for (const SameResult* one : ours) {
    // Trials may have reached different numbers of inputs: the longest one has them all.
    judgement.inputs = std::max(judgement.inputs, one->inputs);
    judgement.all_inputs = std::max(judgement.all_inputs, one->all_inputs);
    characters = std::max(characters, static_cast<double>(one->characters));
    truth = std::max(truth, static_cast<double>(one->truth_characters));
    if (judgement.examples.empty()) judgement.examples = one->examples;
    if (one->truth_characters <= 0) continue;
    judgement.reference_error_rate =
        static_cast<double>(one->truth_errors) / static_cast<double>(one->truth_characters);
  }
  if (characters > 0) judgement.changed_share = changed / characters;
  if (truth > 0) judgement.error_rate = judgement.reference_error_rate + errors / truth;
  double askings = 0, steady_inputs = 0;  // of the present setting
  for (const SameResult* one : theirs) {
    askings += per_input(*one);
    steady_inputs = std::max(steady_inputs, static_cast<double>(one->inputs));
  }
  // One asking in all has repeated nothing, so steady_inputs is no evidence.
  if (askings < 2) steady_inputs = 0;
  const double chance =
      std::min(chance_of_differing(inputs), chance_of_steady_change(inputs, steady_inputs));
  judgement.differs =
      chance < kTextDoubt / std::max(1, comparisons) || surely_differs(ours, theirs);
  // A setting that surely reads otherwise is not taken on the hope that a loss was luck.
  // With true texts a change that reads better is no loss.
  const double loss = truth > 0 ? errors / truth : judgement.changed_share;
  judgement.allowed = !judgement.differs || loss <= max_change;
  return judgement;
}

}  // namespace ocrtune
