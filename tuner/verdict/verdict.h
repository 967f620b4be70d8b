// What a run comes to: the answer, and whether the recommended setting is safe.
#pragma once

#include "tuner/recommendation.h"
#include "tuner/verdict/choice.h"

namespace ocrtune {

// safe, may_grow or grows, by repeated_growth() and soak_reason() of the chosen setting. A soak
// that is steady outlasted what rose in trials.
SafetyState judge_growth(const Reason& in_trials, const Reason& soaked);

// Every resource that can end the run, each by the largest peak of any kind. SAFE needs all of
// them: known limits, sure peaks, the margin free, no growth.
Safety judge_safety(const SettingSummary& chosen, SafetyState growth,
                    const RecommendOptions& options);

// Of a result that has its recommendation, gain, contender and whether the trials are conclusive.
Answer judge_answer(const TuneResult& result);

}  // namespace ocrtune
