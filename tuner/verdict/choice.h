// Which of the tried settings is launched: the best that breaks nothing, the safest of a tie.
#pragma once

#include <vector>

#include "tuner/verdict/explain.h"
#include "tuner/verdict/recommend_options.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

bool breaks(const Setting& setting, const Objective& objective);  // one of its constraints

// The candidates are the settings that work, leave the margin of memory free and break no
// constraint; those of the race, if any of them raced, and what is faster than these
// beyond all doubt. `settings` must outlive the verdict;
// Verdict::chosen is null if there is no candidate.
Verdict choose(const std::vector<Setting>& settings, const RecommendOptions& options, double noise);

}  // namespace ocrtune
