// How long the ladder's steps take, and which of them may run at once.
#pragma once

#include <utility>
#include <vector>

#include "probes/p2p/steps/gpu_step.h"

namespace ocrtune {

double usual_deadline_seconds(const GpuStep& step);

// What a step that passes takes, reckoned from process starts, contexts and bytes; with persistence
// mode on. Not measured.
double planned_seconds(const GpuStep& step);

// Rounds in which everybody of `count` meets everybody once, each at most once a round.
std::vector<std::vector<std::pair<int, int>>> disjoint_rounds(int count);

}  // namespace ocrtune
