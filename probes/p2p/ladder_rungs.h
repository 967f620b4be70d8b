// What the end of a step says about a rung of the ladder.
#pragma once

#include <utility>
#include <vector>

#include "probes/p2p/steps/gpu_step.h"
#include "probes/p2p/steps/p2p_facts.h"

namespace ocrtune {

inline bool step_passed(const P2pStep& step) { return step.result == StepResult::passed; }
inline bool step_failed(const P2pStep& step) {
  return step.result != StepResult::not_run && !step_passed(step);
}

P2pStep as_step(const GpuStepResult& result);
void add_try(P2pStep& into, const P2pStep& other);  // the worst of both counts

// What the step says of one direction; the whole step's end where it says nothing.
P2pStep direction_step(const GpuStepResult& result, int from, int to);

// What NCCL's own diagnostics say of the direction that begins at this rank of two.
P2pStep diagnosed_step(const NcclDiagnostics& diagnostics, int from);

double nccl_rate(const GpuStepResult& result);  // bytes per second of its all-reduce; 0: not told

// How long the ladder's steps take, and which of them may run at once.

double usual_deadline_seconds(const GpuStep& step);

// What a step that passes takes, reckoned from process starts, contexts and bytes; with persistence
// mode on. Not measured.
double planned_seconds(const GpuStep& step);

// Rounds in which everybody of `count` meets everybody once, each at most once a round.
std::vector<std::vector<std::pair<int, int>>> disjoint_rounds(int count);

}  // namespace ocrtune
