#include "tuner/session/slo_proof.h"

#include <algorithm>

#include "base/interrupt.h"
#include "trial/workloads/service/slo.h"
#include "tuner/session/tune_setup.h"
#include "tuner/slo/slo_words.h"

namespace ocrtune {
namespace {

constexpr double kLimits = 180;  // multiples of the SLO's time that a proof takes, warm-up included
constexpr double kLeast = 12;    // seconds
constexpr double kMaxShare = 0.2;  // of the budget
constexpr double kStartSeconds = 30;

}  // namespace

double proof_seconds(const RunOptions& options) {
  const auto slo = parse_slo(options.slo);
  if (options.slo.empty() || !slo) return 0;
  return std::min(kMaxShare * options.budget_seconds, std::max(kLeast, kLimits * slo->seconds));
}

std::optional<Trial> prove_winner(const RunRecord& run, const ProofRunner& runner, double seconds) {
  if (run.options.slo.empty() || !run.result.found || seconds <= 0) return std::nullopt;
  const Knobs& knobs = run.result.recommendation.knobs;
  const auto prover = runner(run.result.recommendation.samples_per_second.median);
  if (!prover) return std::nullopt;
  TrialLimits limits = trial_limits(run.options);
  limits.measure_seconds = seconds;
  limits.max_seconds = 2 * seconds + kStartSeconds;
  Trial trial = (*prover)->run(knobs, limits);
  const bool refuted = trial.outcome == Outcome::unsupported && trial.cause == "promise";
  if (interrupted() || (!trial.ok() && !refuted)) return std::nullopt;
  trial.knobs = knobs;
  trial.phase = kProofPhase;
  trial.why = "proves the claimed rate at full length";
  trial.repetition =
      static_cast<int>(std::count_if(run.trials.begin(), run.trials.end(),
                                     [&](const Trial& earlier) { return earlier.knobs == knobs; }));
  return trial;
}

}  // namespace ocrtune
