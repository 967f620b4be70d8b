// What to train is derived from the verdict, and what is stored already is left out; so a resumed
// run asks for the rest alone.
#include "tuner/session/learning_trials.h"

#include <algorithm>
#include <utility>

#include "base/stats.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/engine_train/training_workload.h"
#include "tuner/models/learning.h"

namespace ocrtune {

namespace {

bool is_known(const RunRecord& run, const LearningTrial& asked) {
  return std::any_of(run.learning.begin(), run.learning.end(), [&](const Trial& trial) {
    return trial.knobs == asked.knobs && trial.learning.seed == asked.ask.seed &&
           (trial.learning.parts > 0) == asked.ask.gradients;
  });
}

}  // namespace

// A model of ours on lines, or a command that prints: whole runs print no loss.
bool learns(const Job& job) {
  const bool of_ours = std::holds_alternative<TrainingJob>(job.kind) ||
                       std::holds_alternative<ExternalJob>(job.kind);
  if (of_ours) return !job.training().label_file.empty();
  return job.prints() && !times_whole_runs(job.program());
}

double noise_seconds(const Job& job, const SearchRequest& search) {
  // Guesses.
  constexpr double kMinBudget = 120, kShare = 0.1, kMost = 60;  // seconds, share of the budget
  const auto* trains = std::get_if<TrainingJob>(&job.kind);
  const bool known = trains != nullptr && !job.on_gpus() && learns(job) && !search.lists("batch");
  if (!known || search.learning_seconds > 0 || search.budget_seconds < kMinBudget) return 0;
  return std::min(kMost, kShare * search.budget_seconds);
}

std::vector<LearningTrial> learning_trials(const RunRecord& run) {
  const TuneResult& result = run.result;
  if (!result.beyond_recipe || !learns(run.job) || nodes_of(result.recommendation.knobs) > 1 ||
      nodes_of(result.beyond_recipe->knobs) > 1) {
    return {};
  }
  std::vector<LearningTrial> trials;
  LearningTrial one;
  one.knobs = result.recommendation.knobs;
  one.ask.watches = true;
  one.seconds = noise_seconds(run.job, run.search);
  // Gradients are compared between parts of a batch: a batch without parts has nothing to tell.
  if (one.seconds > 0 && learning_parts(one.knobs) > 0) {
    one.ask.gradients = true;
    trials.push_back(one);
  }
  one.ask.gradients = false;
  std::vector<double> starts;
  for (const Trial& trial : run.trials) {
    if (trial.ok()) starts.push_back(trial.start_seconds);
  }
  // Two recipes a start; each trial pays for its own start-up.
  one.seconds = run.search.learning_seconds / (2 * kLearningStarts) - median(std::move(starts));
  const bool takes_rate =
      run.job.user() == nullptr || names_used(run.job.program()).contains("rate_factor");
  for (int start = 1; one.seconds > 0 && start <= kLearningStarts; ++start) {
    for (const Knobs& knobs : {result.recommendation.knobs, result.beyond_recipe->knobs}) {
      one.knobs = knobs;
      one.ask.seed = static_cast<std::uint64_t>(start);
      one.ask.rate_factor =
          takes_rate ? learning_rate_factor(global_batch(knobs), result.recipe_batch) : 0;
      trials.push_back(one);
    }
  }
  std::erase_if(trials, [&](const LearningTrial& trial) { return is_known(run, trial); });
  return trials;
}

Job learning_job(Job job, const LearningAsk& ask) {
  if (auto* trains = std::get_if<TrainingJob>(&job.kind)) trains->engine.training.learning = ask;
  if (UserCommandOptions* user = job.user()) user->command.learning = ask;
  return job;
}

Trial run_learning_trial(const LearningTrial& asked, const TrialLimits& limits, Runner& runner) {
  TrialLimits own = limits;
  // What a trial may take beyond its measuring stays as it is.
  own.max_seconds += asked.seconds - own.measure_seconds;
  own.measure_seconds = asked.seconds;
  Trial trial = runner.run(asked.knobs, own);
  trial.knobs = asked.knobs;
  trial.phase = kLearningPhase;
  trial.why = asked.ask.gradients ? "how much do the gradients of its samples differ?"
                                  : "how many samples does its recipe take to the same loss?";
  trial.learning.global_batch = global_batch(asked.knobs);
  trial.learning.parts = asked.ask.gradients ? learning_parts(asked.knobs) : 0;
  trial.learning.seed = asked.ask.seed;
  trial.learning.rate_factor = asked.ask.rate_factor;
  return trial;
}

}  // namespace ocrtune
