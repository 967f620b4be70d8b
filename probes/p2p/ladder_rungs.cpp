// Ends of steps become rungs. Of several tries the worst result stays, with its words; the counts
// tell how often the step passed.
#include "probes/p2p/ladder_rungs.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace ocrtune {
namespace {

struct StepLimit {
  const char* kind;
  double deadline_seconds;  // contexts take up to a minute without persistence mode
  double planned_seconds, planned_seconds_a_device;
};
// Planned times are reckoned (see the header), deadlines are guesses.
constexpr StepLimit kLimits[] = {{"devices", 60, 2, 0.5},
                                 {"copy", 90, 4, 0.5},
                                 {"handshake", 60, 2, 0.5},
                                 {"nccl", 120, 4, 0.75},
                                 {"soak", 240, 4, 0.75}};

const StepLimit& limit_of(const GpuStep& step) {
  const auto found = std::find_if(std::begin(kLimits), std::end(kLimits),
                                  [&](const StepLimit& limit) { return step.kind == limit.kind; });
  OCRTUNE_CHECK(found != std::end(kLimits));
  return *found;
}

StepResult result_of(const std::string& outcome) {
  if (outcome == "passed") return StepResult::passed;
  if (outcome == "wrong_data") return StepResult::wrong_data;
  if (outcome == "hung") return StepResult::hung;
  return outcome == "unsupported" ? StepResult::not_run : StepResult::crashed;
}

}  // namespace

P2pStep as_step(const GpuStepResult& result) {
  P2pStep step;
  step.result = result.result;
  step.detail = result.detail;
  step.tried = result.result == StepResult::not_run ? 0 : 1;
  step.passed = result.result == StepResult::passed ? 1 : 0;
  return step;
}

void add_try(P2pStep& into, const P2pStep& other) {
  into.tried += other.tried;
  into.passed += other.passed;
  // StepResult's order is the order of badness.
  if (static_cast<int>(other.result) > static_cast<int>(into.result) || into.detail.empty()) {
    if (static_cast<int>(other.result) < static_cast<int>(into.result)) return;
    into.result = other.result;
    into.detail = other.detail;
  }
}

P2pStep direction_step(const GpuStepResult& result, int from, int to) {
  P2pStep step;
  for (const GpuFinding& finding : result.findings) {
    if (finding.from != from || finding.to != to) continue;
    P2pStep one;
    one.result = result_of(finding.outcome);
    one.detail = finding.detail;
    one.tried = one.result == StepResult::not_run ? 0 : 1;
    one.passed = one.result == StepResult::passed ? 1 : 0;
    if (static_cast<int>(one.result) >= static_cast<int>(step.result)) step = one;
  }
  // A process that died after it said "passed" of one direction still makes the rung fail.
  const bool silent = step.result == StepResult::not_run;
  const bool died = result.result == StepResult::hung || result.result == StepResult::crashed;
  return silent || (died && step.result == StepResult::passed) ? as_step(result) : step;
}

P2pStep diagnosed_step(const NcclDiagnostics& diagnostics, int from) {
  P2pStep step;
  if (diagnostics.tested == 0) return step;
  step.tried = step.passed = 1;
  step.result = StepResult::passed;
  for (const NcclDiagnostics::Fault& fault : diagnostics.faults) {
    if (fault.from != from) continue;
    step.passed = 0;
    step.detail = fault.text;
    // So NCCL words wrong data; its other faults are calls that failed.
    const bool mismatch = fault.text.find("mismatch") != std::string::npos;
    step.result = mismatch ? StepResult::wrong_data : StepResult::crashed;
  }
  return step;
}

double nccl_rate(const GpuStepResult& result) {
  double best = 0;
  for (const GpuFinding& finding : result.findings) {
    if (finding.what == "nccl") best = std::max(best, finding.figure("bytes_per_second"));
  }
  return best;
}

double usual_deadline_seconds(const GpuStep& step) { return limit_of(step).deadline_seconds; }

double planned_seconds(const GpuStep& step) {
  const StepLimit& limit = limit_of(step);
  return limit.planned_seconds +
         limit.planned_seconds_a_device * static_cast<double>(step.devices.size());
}

// The circle method: one stays, the others move on by a place each round.
std::vector<std::vector<std::pair<int, int>>> disjoint_rounds(int count) {
  // An odd count gets one empty place: who meets it pauses in that round.
  const int places = count + count % 2;
  std::vector<std::vector<std::pair<int, int>>> rounds;
  for (int round = 0; round + 1 < places; ++round) {
    auto& pairs = rounds.emplace_back();
    for (int i = 0; i < places / 2; ++i) {
      const auto on_circle = [&](int place) {
        return place == 0 ? places - 1 : (round + place) % (places - 1);
      };
      const auto [a, b] = std::minmax({on_circle(i), on_circle(places - 1 - i)});
      if (b < count) pairs.emplace_back(a, b);
    }
    std::sort(pairs.begin(), pairs.end());
  }
  return rounds;
}

}  // namespace ocrtune
