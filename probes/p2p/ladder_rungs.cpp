#include "probes/p2p/ladder_rungs.h"

#include <algorithm>

namespace ocrtune {
namespace {

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

}  // namespace ocrtune
