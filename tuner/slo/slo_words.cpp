// Words and claims of a judged run under an SLO: the proof where there is one, else the rate that a
// proof would begin with. Nothing is measured here.
#include "tuner/slo/slo_words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "trial/workloads/service/slo.h"
#include "tuner/slo/proof_start.h"

namespace ocrtune {
namespace {

// A search that ended before it had proved a rate, and what it measured on the way.
bool out_of_time(const Trial& trial) {
  return trial.outcome == Outcome::timed_out && trial.cause == "promise";
}

// Requests a second, the fewest at which these knobs missed the target.
double lowest_broken(const RunRecord& run, const Knobs& knobs) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const Trial& trial : run.trials) {
    for (const LoadPoint& load : trial.service.loads) {
      const bool broken = load.in_flight == 0 && load.verdict == "broken";
      if (broken && trial.knobs == knobs) lowest = std::min(lowest, load.requests_per_second);
    }
  }
  return lowest;
}

// The budget that leaves a proof its time; of a run that had it, twice its own.
std::string proof_budget(const RunRecord& run, const LatencySlo& slo) {
  const double budget = full_proof_seconds(slo) / kProofShare;
  // The proof has kProofShare of the budget.
  const bool had_it = run.search.budget_seconds >= budget;
  return fmt::format("{}m", std::ceil((had_it ? 2 * run.search.budget_seconds : budget) / 60));
}

// By how much the SLO is missed where no setting keeps it: the setting that comes nearest.
Reason slo_missed(const RunRecord& run, const LatencySlo& slo) {
  const Trial* nearest = nullptr;
  double least = 0;
  for (const Trial& trial : run.trials) {
    const double alone = trial.service.alone_seconds;
    if (alone <= 0 || (nearest != nullptr && alone >= least)) continue;
    nearest = &trial;
    least = alone;
  }
  if (nearest == nullptr) return {};
  const Number alone = general(1e3 * least, 3);
  if (least <= slo.seconds) {
    return reason<ReasonCode::no_rate_proved>(slo_reason(slo), alone, knobs_text(nearest->knobs),
                                              proof_budget(run, slo));
  }
  return reason<ReasonCode::target_missed>(slo_reason(slo), knobs_text(nearest->knobs), alone,
                                           general(1e3 * (least - slo.seconds), 3),
                                           general(least / slo.seconds, 2));
}

Reason proof_reason(const RunRecord& run, const LatencySlo& slo) {
  const Trial* proof = proof_of(run, run.result.recommendation.knobs);
  if (proof == nullptr) {
    return reason<ReasonCode::not_proved_at_length>(in_seconds(full_proof_seconds(slo)),
                                                    proof_budget(run, slo));
  }
  std::int64_t requests = 0;
  for (const Sample& sample : proof->samples) requests += sample.steps;
  return reason<ReasonCode::proved_at_length>(as_rate(static_cast<double>(requests)),
                                              in_seconds(proof->measured_seconds()));
}

}  // namespace

const Trial* proof_of(const RunRecord& run, const Knobs& knobs) {
  const auto found = std::find_if(run.trials.rbegin(), run.trials.rend(), [&](const Trial& trial) {
    return trial.ok() && trial.phase == kProofPhase && trial.knobs == knobs;
  });
  return found == run.trials.rend() ? nullptr : &*found;
}

std::optional<Knobs> setting_to_prove(const RunRecord& run) {
  if (run.result.found) return run.result.recommendation.knobs;
  const auto proof_failed = [&](const Knobs& knobs) {
    return std::any_of(run.trials.begin(), run.trials.end(), [&](const Trial& trial) {
      return trial.phase == kProofPhase && trial.knobs == knobs;
    });
  };
  std::optional<Knobs> best;
  double most = 0;  // requests/s
  for (const Trial& trial : run.trials) {
    if (!out_of_time(trial) || proof_failed(trial.knobs)) continue;
    const double rate = rate_to_prove(run, trial.knobs).requests_per_second;
    if (rate <= most) continue;
    most = rate;
    best = trial.knobs;
  }
  return best;
}

RateToProve rate_to_prove(const RunRecord& run, const Knobs& knobs) {
  // Of the search: the recommendation's own rate may be lowered to this one already.
  double claimed = run.result.recommendation.samples_per_second.median;
  for (const SettingSummary& setting : run.result.settings) {
    if (setting.knobs == knobs) claimed = setting.samples_per_second.median;
  }
  const auto slo = parse_slo(run.job.slo());
  std::vector<std::vector<LoadPoint>> loads;
  for (const Trial& trial : run.trials) {
    const bool searched = trial.ok() || out_of_time(trial);
    if (searched && trial.phase != kProofPhase && trial.knobs == knobs) {
      loads.push_back(trial.service.loads);
    }
  }
  return slo ? proof_start(loads, *slo, claimed, run.job.requests().trace.empty())
             : RateToProve{claimed, {}};
}

bool rate_may_be_higher(const RunRecord& run, const Knobs& knobs) {
  bool searched = false;
  for (const Trial& trial : run.trials) {
    if (!trial.ok() || trial.phase == kProofPhase || trial.knobs != knobs) continue;
    if (!trial.service.ended_early) return false;
    searched = true;
  }
  return searched;
}

void speak_of_slo(RunRecord& run) {
  const auto slo = parse_slo(run.job.slo());
  if (!slo) return;
  TuneResult& result = run.result;
  if (!result.found) {
    Reason missed = slo_missed(run, *slo);
    if (!missed.empty()) result.answer = std::move(missed);
    return;
  }
  // The claim is what was proved; the search's own rates stay in the interval.
  Recommendation& best = result.recommendation;
  auto& rate = best.samples_per_second;
  const Trial* proved = proof_of(run, best.knobs);
  rate.median = proved != nullptr
                    ? proved->samples_per_second
                    : std::min(rate.median, rate_to_prove(run, best.knobs).requests_per_second);
  rate.low = std::min(rate.low, rate.median);
  // What was seen to break the target bounds the claim.
  rate.high = std::max(rate.median, std::min(rate.high, lowest_broken(run, best.knobs)));
  const Reason proof = proof_reason(run, *slo);
  const Reason target = slo_reason(*slo);
  result.answer = reason<ReasonCode::launch_at_target>(
      knobs_text(best.knobs), as_rate(best.samples_per_second.median), target, proof);
  best.reasons.insert(best.reasons.begin(),
                      {{run.job.requests().trace.empty() ? ReasonCode::highest_at_random
                                                         : ReasonCode::highest_as_in_trace,
                        {target}},
                       reason<ReasonCode::rate_is>(proof)});
  if (rate_may_be_higher(run, best.knobs)) {
    best.reasons.insert(best.reasons.begin() + 2, reason<ReasonCode::rate_may_be_higher>());
  }
}

}  // namespace ocrtune
