// The winner of a tune under an SLO, run at full length before it is claimed.
//
// A trial of the search proves its rate over a short time. After the search the recommended setting
// runs at the claimed rate until the SLO is proved by itself (459 requests without a late one
// at p99), or at lower rates; the rate that this proves is the claim. The proof is a trial of the
// run like any other, of the phase "proof".
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "trial/runner.h"
#include "trial/trial.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// What a tune keeps of its budget for the proof; 0 without an SLO.
double proof_seconds(const RunOptions& options);

// Who runs `rate` at full length.
using ProofRunner = std::function<Result<std::unique_ptr<Runner>>(double rate)>;

// Proves the recommended setting of a run that was judged, in about `seconds`. Nothing: there is
// nothing to prove, or the time was too short to tell.
std::optional<Trial> prove_winner(const RunRecord& run, const ProofRunner& runner, double seconds);

}  // namespace ocrtune
