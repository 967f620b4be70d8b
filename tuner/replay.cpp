#include "tuner/replay.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tuner/tune_loop.h"

namespace ocrtune {
namespace {

double truth_of(const RecordedTable& table, const Knobs& knobs) {
  for (const TableRow& row : table.rows) {
    if (row.knobs == knobs && row.outcome == Outcome::ok) return row.samples_per_second;
  }
  return 0;
}

}  // namespace

Space space_of(const RecordedTable& table) {
  std::vector<Knobs> points;
  for (const TableRow& row : table.rows) points.push_back(row.knobs);
  return Space(std::move(points));
}

Result<ReplayScore> replay(const RecordedTable& table, const ReplayOptions& options) {
  const StrategyRow* strategy = find_strategy(options.strategy);
  if (strategy == nullptr) {
    return Error{ErrorKind::usage, fmt::format("no strategy '{}'", options.strategy)};
  }
  const TableRow* best = table.best();
  if (best == nullptr) {
    return Error{ErrorKind::invalid, "every setting of the table failed: there is nothing to find"};
  }
  const Space space = space_of(table);
  SearchOptions search_options;
  search_options.safety.limit_bytes = table.memory_bytes;
  search_options.safety.margin = options.margin;
  search_options.cores = table.cores;
  search_options.first_trial_seconds = 1;
  search_options.seed = options.seed;
  const auto search = strategy->make(space, search_options);

  CountingClock clock;
  TableRunner runner(table, clock, options.seed, options.faults);
  TuneLoopOptions loop;
  loop.budget_seconds = options.trials;
  loop.most_trials = options.trials;
  auto end = tune_loop(*search, runner, clock, loop, {});
  if (!end) return end.error();

  RecommendOptions recommend_options;
  recommend_options.limit_bytes = table.memory_bytes;
  recommend_options.margin = options.margin;
  recommend_options.stop_reason = end->stop_reason;
  ReplayScore score;
  score.result = recommend(space, *search, end->trials, recommend_options);
  score.found = score.result.found;
  score.trials = static_cast<int>(end->trials.size());
  score.out_of_memory_trials = runner.out_of_memory_trials();
  double tried = 0;
  for (const Trial& trial : end->trials) {
    if (trial.ok()) tried = std::max(tried, truth_of(table, trial.knobs));
  }
  score.tried_regret = 1 - tried / best->samples_per_second;
  score.run = std::move(end->trials);
  if (!score.found) return score;
  score.knobs = score.result.recommendation.knobs;
  score.true_samples_per_second = truth_of(table, score.knobs);
  score.claimed_samples_per_second = score.result.recommendation.samples_per_second.median;
  score.regret = 1 - score.true_samples_per_second / best->samples_per_second;
  return score;
}

}  // namespace ocrtune
