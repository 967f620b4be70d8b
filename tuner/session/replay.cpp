// The tune loop, the search and the verdict of a real run over a table, by a clock that counts
// trials instead of seconds. Truth is read from the table only for the score.
#include "tuner/session/replay.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/normal.h"
#include "tuner/session/tune_loop.h"

namespace ocrtune {
namespace {

double truth_of(const RecordedTable& table, const Knobs& knobs) {
  for (const TableRow& row : table.rows) {
    if (row.knobs == knobs && row.outcome == Outcome::ok) return row.samples_per_second;
  }
  return 0;
}

void score_forecasts(const RecordedTable& table, const Search& search, ReplayScore& score) {
  std::set<Knobs> tried;
  for (const Trial& trial : score.run) tried.insert(trial.knobs);
  std::vector<const TableRow*> rows;
  for (const TableRow& row : table.rows) {
    if (row.outcome == Outcome::ok && tried.count(row.knobs) == 0) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(), [](const TableRow* a, const TableRow* b) {
    return a->samples_per_second > b->samples_per_second;
  });
  // The fastest ones: a search does not try to know the slow ones.
  rows.resize(std::min<std::size_t>(rows.size(), 50));
  double errors = 0;
  double surprises = 0;
  for (const TableRow* row : rows) {
    const Interval rate = search.predict(row->knobs).samples_per_second;
    if (rate.median <= 0) return;
    const double error = std::log(row->samples_per_second / rate.median);
    // The interval is taken for that of a normal at 95 %.
    const double stddev = std::log(rate.high / rate.low) / (2 * kNormal95);
    errors += error * error;
    surprises += error * error / (stddev * stddev + 1e-12);
  }
  if (rows.empty()) return;
  score.forecast_error = std::sqrt(errors / static_cast<double>(rows.size()));
  score.forecast_surprise = std::sqrt(surprises / static_cast<double>(rows.size()));
}

}  // namespace

Space space_of(const RecordedTable& table) {
  std::vector<Knobs> points;
  for (const TableRow& row : table.rows) points.push_back(row.knobs);
  return Space(std::move(points));
}

SearchOptions replay_search(const RecordedTable& table, const ReplayOptions& options) {
  SearchOptions search;
  search.safety.limit_bytes = table.memory_bytes;
  search.safety.margin = options.margin;
  search.safety.memory.memories = std::max(1, table.gpus);
  search.cores = table.cores;
  search.first_trial_seconds = 1;
  search.seed = options.seed;
  search.hints = options.hints;
  return search;
}

Result<ReplayScore> replay(const RecordedTable& table, const ReplayOptions& options) {
  const TableRow* best = table.best();
  if (best == nullptr) {
    return Error{ErrorKind::invalid, "every setting of the table failed: there is nothing to find"};
  }
  const Space space = space_of(table);
  const auto search = options.make(space, replay_search(table, options));

  CountingClock clock;
  TableRunner runner(table, clock, options.seed, options.faults);
  TuneLoopOptions loop;
  // The clock counts one second a trial.
  loop.budget_seconds = options.trials;
  loop.max_trials = options.trials;
  RecommendOptions recommend_options;
  recommend_options.limit_bytes = table.memory_bytes;
  recommend_options.margin = options.margin;
  loop.open_question = [&](const std::vector<Trial>& trials) {
    return open_question(space, *search, trials, recommend_options);
  };
  auto end = OCRTUNE_TRY(tune_loop(*search, runner, clock, loop, {}));

  recommend_options.stop_reason = end.stop_reason;
  ReplayScore score;
  score.result = recommend(space, *search, end.trials, recommend_options);
  score.found = score.result.found;
  score.trials = static_cast<int>(end.trials.size());
  score.out_of_memory_trials = runner.out_of_memory_trials();
  score.guarded_stops = runner.guarded_stops();
  double tried = 0;
  for (const Trial& trial : end.trials) {
    if (trial.ok()) tried = std::max(tried, truth_of(table, trial.knobs));
  }
  score.tried_regret = 1 - tried / best->samples_per_second;
  score.run = std::move(end.trials);
  score_forecasts(table, *search, score);
  if (!score.found) return score;
  score.knobs = score.result.recommendation.knobs;
  score.true_samples_per_second = truth_of(table, score.knobs);
  score.claimed_samples_per_second = score.result.recommendation.samples_per_second.median;
  score.regret = 1 - score.true_samples_per_second / best->samples_per_second;
  return score;
}

}  // namespace ocrtune
