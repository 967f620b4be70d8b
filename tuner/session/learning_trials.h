// Trials that show what a sample of another recipe is worth (tuner/models/learning.h): both
// recipes train from the same starts (`--prove-learning`), or else the recommended setting trains
// once with its gradients watched, in a share of the budget.
#pragma once

#include <vector>

#include "trial/runner.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Seeds from which both recipes are trained.
inline constexpr int kLearningStarts = 3;

// What one trial trains, and for how long.
struct LearningTrial {
  Knobs knobs;
  LearningAsk ask;
  double seconds = 0;
};

// It trains, and its losses can be read: the built-in engine on lines, or a command that prints.
bool learns(const Job& job);

// What a tune keeps of its budget for the gradients; 0: it proves, is too short for it, or does not
// train the built-in engine on lines with the recipe kept.
double noise_seconds(const Job& job, const SearchRequest& search);

// Of a run that was judged, those that its store does not hold yet: start by start, the recommended
// setting and the fastest one of another recipe; or the former alone for its gradients. Empty: no
// such setting, several hosts, nothing asked for and no time, or a program that prints no loss.
std::vector<LearningTrial> learning_trials(const RunRecord& run);

// The job as it is asked to learn.
Job learning_job(Job job, const LearningAsk& ask);

// Runs one, by the runner of its learning_job.
Trial run_learning_trial(const LearningTrial& asked, const TrialLimits& limits, Runner& runner);

}  // namespace ocrtune
