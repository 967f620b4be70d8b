// The answer and the safety of a judged run, and their names for exit codes and JSON. Safety is the
// worst state of any resource, growth included.
#include "tuner/verdict/verdict.h"

#include <algorithm>

namespace ocrtune {
namespace {

SafetyState state_of(const Resource& resource, double margin) {
  if (resource.limit == 0) return SafetyState::limit_unknown;
  // No memory was read: nothing says that it fits.
  if (resource.peak == 0) return SafetyState::unsure;
  const double usable = static_cast<double>(resource.limit) * (1 - margin);
  if (static_cast<double>(resource.peak) > usable) return SafetyState::tight;
  if (static_cast<double>(resource.possible) > usable) return SafetyState::unsure;
  return SafetyState::safe;
}

// A peak that was read says more than growth, growth more than what is not known.
int weight(SafetyState state) {
  constexpr SafetyState kWorstFirst[] = {SafetyState::tight, SafetyState::grows,
                                         SafetyState::may_grow, SafetyState::unsure,
                                         SafetyState::limit_unknown};
  return static_cast<int>(std::find(std::begin(kWorstFirst), std::end(kWorstFirst), state) -
                          std::begin(kWorstFirst));
}

}  // namespace

SafetyState judge_growth(const Reason& in_trials, const Reason& soaked) {
  if (soaked.is(ReasonCode::soak_grows) || soaked.is(ReasonCode::soak_grows_by_request) ||
      in_trials.is(ReasonCode::memory_grows_in_trials)) {
    return SafetyState::grows;
  }
  const bool rose = in_trials.is(ReasonCode::memory_may_grow_in_trials);
  const bool may =
      soaked.is(ReasonCode::soak_may_grow) || (rose && !soaked.is(ReasonCode::soak_steady));
  return may ? SafetyState::may_grow : SafetyState::safe;
}

Safety judge_safety(const SettingSummary& chosen, SafetyState growth,
                    const RecommendOptions& options) {
  Safety safety;
  safety.margin = options.margin;
  safety.resources.push_back(chosen.host);
  safety.resources.back().limit = options.host_limit_bytes;
  // A GPU counts where the job is of GPUs, and where the driver saw it used.
  if (options.uses_gpus || chosen.gpu.peak > 0) {
    Resource gpu = chosen.gpu;
    gpu.kind = ResourceKind::gpu_memory;
    if (options.gpu_limit_bytes > 0) gpu.limit = options.gpu_limit_bytes;
    safety.resources.push_back(gpu);
  }
  for (const Resource& counted : {chosen.tasks, chosen.files}) {
    if (counted.limit > 0) safety.resources.push_back(counted);
  }
  if (chosen.crashes > 0) {
    safety.state = SafetyState::crashes;
    return safety;
  }
  safety.state = growth;
  for (const Resource& resource : safety.resources) {
    const SafetyState state = state_of(resource, options.margin);
    if (weight(state) >= weight(safety.state)) continue;
    safety.state = state;
    safety.by = resource.kind;
  }
  return safety;
}

Answer judge_answer(const TuneResult& result) {
  if (!result.found) return Answer::none;
  if (!result.inconclusive.empty()) return Answer::inconclusive;
  const bool baseline = result.baseline.knobs == result.recommendation.knobs;
  const bool compared = result.objective == "throughput" && result.settings.size() > 1;
  return compared && (result.contender || baseline) ? Answer::keep : Answer::use;
}

const char* answer_name(Answer answer) {
  constexpr const char* kNames[] = {"use", "keep", "inconclusive", "no_answer"};
  return kNames[static_cast<int>(answer)];
}

const char* verdict_name(const Verdict& verdict) {
  if (verdict.answer == Answer::none) return "no_answer";
  if (verdict.answer == Answer::inconclusive) return "inconclusive";
  constexpr const char* kNames[] = {"safe",
                                    "tight",
                                    "memory_grows",
                                    "memory_not_sure",
                                    "memory_limit_unknown",
                                    "memory_not_sure",
                                    "crashes_at_times"};
  return kNames[static_cast<int>(verdict.safety.state)];
}

}  // namespace ocrtune
