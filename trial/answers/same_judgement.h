// Whether answers differ more often than those they are compared with: an exact test.
#pragma once

#include <cstdint>
#include <vector>

#include "trial/same_result.h"

namespace ocrtune {

// Answers to one input on both sides, and how many of each differ from its reference.
struct AnswerStratum {
  std::int64_t base_answers = 0;
  std::int64_t base_differing = 0;
  std::int64_t answers = 0;
  std::int64_t differing = 0;
};

// The probability of as many differing answers on the second side, or more, if both sides vary
// alike, input by input: the sum of hypergeometric counts. Above 300 differing answers by its
// normal approximation. Source: Mantel, Haenszel 1959; the exact form is Fisher's for one input.
double chance_of_differing(const std::vector<AnswerStratum>& inputs);

// What all trials of a setting show beside those of the present one.
struct SameJudgement {
  bool compared = false;
  NotCompared not_compared = NotCompared::not_asked;  // where it was not
  bool differs = false;         // beyond the present setting's own variation, at 95 %
  bool allowed = true;          // not differing, or by no more than was allowed
  std::int64_t inputs = 0;      // that were compared
  std::int64_t all_inputs = 0;  // that were sent
  std::int64_t differing_inputs = 0;
  double changed_share = 0;  // of the characters
  // With true texts: edits from them over their characters; below 0: there are none.
  double error_rate = -1;
  double reference_error_rate = -1;
  std::vector<AnswerExample> examples;
  // Of the trial that went wrong with the fewest requests in flight, as in SameResult.
  std::int64_t wrong_in_flight = 0, wrong_answers = 0, wrong_of_answers = 0, swapped_answers = 0;
};

// `max_change`: the share of characters that may change, or with true texts by which the error rate
// may grow. `comparisons`: settings that are judged beside this one; they share the doubt.
SameJudgement judge_same(const std::vector<const SameResult*>& setting,
                         const std::vector<const SameResult*>& present, double max_change,
                         int comparisons);

}  // namespace ocrtune
