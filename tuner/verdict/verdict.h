// What a run comes to: the answer, and whether the recommended setting is safe.
#pragma once

#include "tuner/recommendation.h"
#include "tuner/verdict/choice.h"

namespace ocrtune {

// Every resource that can end the run, each by the largest peak of any kind. SAFE needs all of
// them: known limits, sure peaks, the margin free, no growth.
Safety judge_safety(const SettingSummary& chosen, bool grows, const RecommendOptions& options);

// Of a result that has its recommendation, gain, contender and whether the trials are conclusive.
Answer judge_answer(const TuneResult& result);

}  // namespace ocrtune
