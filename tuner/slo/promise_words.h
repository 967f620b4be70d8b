// What a run under a latency promise answers, in words, and the rate that it claims.
#pragma once

#include "tuner/store/run_record.h"

namespace ocrtune {

inline constexpr const char* kProofPhase =
    "proof";  // of trials that prove (tuner/session/promise_proof.h)

// The last proof among the trials of this setting; null: none.
const Trial* proof_of(const RunRecord& run, const Knobs& knobs);

// For a run that was judged: its answer and first reason, and the claim, which is the proved rate
// where there is one. Where no setting keeps the promise: by how much it is missed.
void speak_of_promise(RunRecord& run);

}  // namespace ocrtune
