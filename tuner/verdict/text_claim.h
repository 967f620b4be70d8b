// What is said of the texts that a setting reads, beside those of the present one.
#pragma once

#include <vector>

#include "tuner/recommendation.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

// Turns away, as SameGate does, settings whose trials all together read otherwise than is allowed:
// what the present setting varies by itself may show after the last of their trials. Settings that
// work come first, in their order.
void weigh_texts(const std::vector<Trial>& trials, const Knobs& present, double max_change,
                 std::vector<Setting>& settings);

// Fills the settings' judgements, the verdict's claim, and the fastest setting that reads
// otherwise. `result` has its settings and its recommendation; `max_change` as judge_same() takes
// it.
void claim_texts(const std::vector<Trial>& trials, const Knobs& present, double max_change,
                 TuneResult& result);

// Of one trial: why its text was not compared, at which load texts went wrong, and caches.
std::vector<Reason> text_reasons(const SameResult& same);

// The judgement of the recommended setting.
SameJudgement recommended_text(const TuneResult& result);

}  // namespace ocrtune
