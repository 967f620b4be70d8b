#include "tuner/slo/promise_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/workloads/service/promise.h"
#include "tuner/slo/load_trial.h"

namespace ocrtune {
namespace {

// By how much the promise is missed where no setting keeps it: the setting that comes nearest.
std::string promise_missed(const RunRecord& run, const Promise& promise) {
  const Trial* nearest = nullptr;
  double least = 0;
  for (const Trial& trial : run.trials) {
    const auto alone = alone_seconds(trial);
    if (!alone || (nearest != nullptr && *alone >= least)) continue;
    nearest = &trial;
    least = *alone;
  }
  if (nearest == nullptr) return "";
  if (least <= promise.seconds) {
    return fmt::format(
        "No setting was proved to keep {}; one request alone takes {:.3g} ms with {}, so a longer "
        "--trial-time may prove a rate.",
        promise_text(promise), 1e3 * least, knobs_text(nearest->knobs));
  }
  return fmt::format(
      "No setting keeps {}: the nearest, {}, takes {:.3g} ms for one request alone, {:.3g} ms too "
      "long ({:.2g} times the promise).",
      promise_text(promise), knobs_text(nearest->knobs), 1e3 * least,
      1e3 * (least - promise.seconds), least / promise.seconds);
}

std::string proof_words(const RunRecord& run) {
  const Trial* proof = proof_of(run, run.result.recommendation.knobs);
  if (proof == nullptr) {
    return "not proved at full length (no time was left for it: a longer --budget has it)";
  }
  std::int64_t requests = 0;
  double seconds = 0;
  for (const Sample& sample : proof->samples) {
    requests += sample.steps;
    seconds += sample.seconds;
  }
  return fmt::format("proved at full length: {} requests in {}",
                     format_count(static_cast<double>(requests)), format_duration(seconds));
}

}  // namespace

const Trial* proof_of(const RunRecord& run, const Knobs& knobs) {
  const auto found = std::find_if(run.trials.rbegin(), run.trials.rend(), [&](const Trial& trial) {
    return trial.ok() && trial.phase == kProofPhase && trial.knobs == knobs;
  });
  return found == run.trials.rend() ? nullptr : &*found;
}

void speak_of_promise(RunRecord& run) {
  const auto promise = parse_promise(run.options.promise);
  if (!promise) return;
  TuneResult& result = run.result;
  if (!result.found) {
    const std::string missed = promise_missed(run, *promise);
    if (!missed.empty()) result.answer = missed;
    return;
  }
  // The claim is what was proved; the search's own rates stay in the interval.
  Recommendation& best = result.recommendation;
  if (const Trial* proved = proof_of(run, best.knobs)) {
    auto& rate = best.samples_per_second;
    rate.median = proved->samples_per_second;
    rate.low = std::min(rate.low, rate.median);
    rate.high = std::max(rate.high, rate.median);
  }
  const std::string proof = proof_words(run);
  result.answer =
      fmt::format("Launch with {}: {} requests/s with {}, {}.", knobs_text(best.knobs),
                  format_count(best.samples_per_second.median), promise_text(*promise), proof);
  best.reasons.insert(best.reasons.begin(), "The rate is " + proof + ".");
  result.recommendation.reasons.insert(
      result.recommendation.reasons.begin(),
      fmt::format("The rate is the highest at which requests that come {} had {}, every width "
                  "for itself.",
                  run.options.trace.empty() ? "at random (Poisson)" : "as in the trace",
                  promise_text(*promise)));
}

}  // namespace ocrtune
