// What is said of the texts that a setting reads, beside those of the present one.
#pragma once

#include <vector>

#include "tuner/recommendation.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

// Judges the text of each setting by all of its trials together, and turns away those that read
// otherwise than is allowed, as SameGate does: what the present setting varies by itself may show
// after the last of their trials. `max_change` as judge_same() takes it. Settings that work come
// first, in their order.
void weigh_texts(const std::vector<Trial>& trials, const Knobs& present, double max_change,
                 std::vector<Setting>& settings);

// Fills the verdict's claim, and the fastest setting that reads otherwise. `result` has its
// judged settings and its recommendation.
void claim_texts(const std::vector<Trial>& trials, TuneResult& result);

// Of one trial: why its text was not compared, at which load texts went wrong, and caches.
std::vector<Reason> text_reasons(const SameResult& same);

// The judgement of the recommended setting.
SameJudgement recommended_text(const TuneResult& result);

}  // namespace ocrtune
