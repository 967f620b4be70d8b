// Turns away trials that read another text than the present setting: the text's part in what is
// safe to recommend.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trial/answers/same_judgement.h"
#include "trial/trial.h"

namespace ocrtune {

// Its texts count: it works, or came to the end of its inputs before its speed was measured.
bool has_read(const Trial& trial);

class SameGate {
 public:
  // `max_change`: as judge_same() takes it.
  explicit SameGate(double max_change) : max_change_(max_change) {}

  // Keeps trial.same by trial.knobs. Of a setting that reads otherwise in all its trials together,
  // beyond what the present one varies by itself and by more than is allowed: the trial ends as
  // wrong_result with cause kTextCause; its rate stays. `chance`: that its lines differ by chance,
  // as the caller knows it; 1: nothing is known.
  void judge(Trial& trial, bool present, double chance = 1);

 private:
  double max_change_;
  std::vector<SameResult> present_;
  std::map<Knobs, std::vector<SameResult>> others_;
};

inline constexpr int kTextComparisons = 20;  // settings of a tune, which share the doubt
inline constexpr const char* kTextCause = "text";

// "0.81 %", "45 %"
std::string small_percent(double share);

// "reads 12 of 200 inputs otherwise than the present setting (0.8 % of the characters), as 'l' for
// '1'"
std::string other_text_words(const SameJudgement& judgement);

}  // namespace ocrtune
