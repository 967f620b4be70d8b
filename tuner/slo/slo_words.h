// What a run under a latency SLO answers, in words, and the rate that it claims.
#pragma once

#include <optional>

#include "tuner/store/run_record.h"

namespace ocrtune {

inline constexpr const char* kProofPhase =
    "proof";  // of trials that prove (tuner/session/session.h)

// The last proof among the trials of this setting; null: none.
const Trial* proof_of(const RunRecord& run, const Knobs& knobs);

// The setting whose rate is to be proved: the recommended one, and where no trial had the time to
// prove a rate, the one that a queue like it says the most of. None: nothing was measured to begin
// with, or its proof has failed already.
std::optional<Knobs> setting_to_prove(const RunRecord& run);

// Where the proof of this setting begins (tuner/slo/proof_start.h), by its trials.
RateToProve rate_to_prove(const RunRecord& run, const Knobs& knobs);

// No trial of this setting tried a rate above its own that broke the SLO: there was no time.
bool rate_may_be_higher(const RunRecord& run, const Knobs& knobs);

// For a run that was judged: its answer and first reason, and the claim, which is the proved rate
// where there is one, else no more than what a proof would begin with. Where no setting meets the
// SLO: by how much it is missed.
void speak_of_slo(RunRecord& run);

}  // namespace ocrtune
