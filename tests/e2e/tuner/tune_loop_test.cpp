#include "tuner/session/tune_loop.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "trial/table_runner.h"
#include "tuner/verdict/recommend.h"

namespace ocrtune {
namespace {

// 4 cores: processes and threads share them, a batch saturates, memory grows with n x batch.
RecordedTable small_table(double noise, double limit) {
  RecordedTable table;
  table.cores = 4;
  table.memory_bytes = static_cast<std::uint64_t>(limit);
  for (int n : {1, 2, 4, 8}) {
    for (int t : {1, 2, 4}) {
      for (int b : {4, 8, 16, 32, 64}) {
        TableRow row;
        row.knobs.nproc = n;
        row.knobs.threads = t;
        row.knobs.batch = b;
        const double busy = std::min(4.0, n * std::pow(t, 0.8));
        const double over = std::max(1.0, n * t / 4.0);
        row.samples_per_second = 100 * busy * b / (b + 6.0) / std::sqrt(over);
        row.peak_bytes = static_cast<std::uint64_t>(1e8 * n + 2e6 * n * b);
        row.noise_sigma = noise;
        if (static_cast<double>(row.peak_bytes) > limit) row.outcome = Outcome::out_of_memory;
        table.rows.push_back(row);
      }
    }
  }
  return table;
}

std::vector<Knobs> knobs_of(const RecordedTable& table) {
  std::vector<Knobs> points;
  for (const TableRow& row : table.rows) points.push_back(row.knobs);
  return points;
}

struct Played {
  TuneLoopEnd end;
  TuneResult result;
  int out_of_memory = 0;
};

Played play(const RecordedTable& table, double budget, std::uint64_t seed) {
  const Space space(knobs_of(table));
  SearchOptions options;
  options.safety.limit_bytes = table.memory_bytes;
  options.first_trial_seconds = 1;
  options.seed = seed;
  Knobs baseline;
  baseline.batch = 4;
  options.first = {baseline};
  const auto search = find_strategy("ours")->make(space, options);
  CountingClock clock;
  TableRunner runner(table, clock, seed);
  TuneLoopOptions loop;
  loop.budget_seconds = budget;
  auto end = tune_loop(*search, runner, clock, loop, {});
  RecommendOptions recommend_options;
  recommend_options.baseline = baseline;
  recommend_options.limit_bytes = table.memory_bytes;
  recommend_options.stop_reason = end->stop_reason;
  return {*end, recommend(space, *search, end->trials, recommend_options),
          runner.out_of_memory_trials()};
}

double truth(const RecordedTable& table, const Knobs& knobs) {
  for (const TableRow& row : table.rows) {
    if (row.knobs == knobs && row.outcome == Outcome::ok) return row.samples_per_second;
  }
  return 0;
}

TEST(TuneLoop, FindsTheBestOfASmallSpaceWithin5Percent) {
  const RecordedTable table = small_table(0.02, 1e9);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Played played = play(table, 150, seed);
    ASSERT_TRUE(played.result.found);
    const double best = table.best()->samples_per_second;
    EXPECT_GT(truth(table, played.result.recommendation.knobs), 0.95 * best) << seed;
    EXPECT_LE(played.end.trials.size(), 150U);
    EXPECT_LE(played.out_of_memory, 1);
    EXPECT_EQ(played.end.trials[0].phase, "baseline");
    EXPECT_GE(played.result.gain.median, 1.0);
  }
}

TEST(TuneLoop, HonoursTheBudget) {
  const RecordedTable table = small_table(0.02, 1e9);
  for (double budget : {1.0, 2.0, 7.0, 33.0}) {
    const Played played = play(table, budget, 3);
    EXPECT_LE(played.end.seconds, budget * 1.05 + 1e-9);
    EXPECT_GE(played.end.trials.size(), 1U);
    EXPECT_TRUE(played.result.found);
  }
}

TEST(TuneLoop, FewTrialsTryMoreThanOneSetting) {
  const RecordedTable table = small_table(0.02, 1e9);
  for (const double budget : {2.0, 3.0, 4.0, 7.0, 12.0, 20.0}) {
    const Played played = play(table, budget, 1);
    std::vector<Knobs> settings;
    for (const Trial& trial : played.end.trials) {
      if (std::find(settings.begin(), settings.end(), trial.knobs) == settings.end()) {
        settings.push_back(trial.knobs);
      }
    }
    EXPECT_GT(settings.size(), 1U) << budget << " s for " << played.end.trials.size() << " trials";
  }
}

// A stored run is judged by a search that was only told its trials.
TEST(TuneLoop, AStoredRunIsJudgedAsItWas) {
  const RecordedTable table = small_table(0.02, 1e9);
  for (const double budget : {30.0, 200.0}) {
    const Played played = play(table, budget, 1);
    const Space space(knobs_of(table));
    SearchOptions options;
    options.safety.limit_bytes = table.memory_bytes;
    options.first = {played.end.trials[0].knobs};
    const auto search = find_strategy("ours")->make(space, options);
    for (const Trial& trial : played.end.trials) search->tell(trial);
    RecommendOptions recommend_options;
    recommend_options.baseline = played.end.trials[0].knobs;
    recommend_options.limit_bytes = table.memory_bytes;
    recommend_options.stop_reason = played.end.stop_reason;
    const TuneResult again = recommend(space, *search, played.end.trials, recommend_options);
    EXPECT_EQ(again.certificate, played.result.certificate) << budget;
    EXPECT_EQ(again.recommendation.knobs, played.result.recommendation.knobs) << budget;
  }
}

TEST(TuneLoop, GoesOnFromEarlierTrials) {
  const RecordedTable table = small_table(0.0, 1e9);
  const Played first = play(table, 20, 1);
  const Space space(knobs_of(table));
  SearchOptions options;
  options.safety.limit_bytes = table.memory_bytes;
  options.first_trial_seconds = 1;
  const auto search = find_strategy("ours")->make(space, options);
  CountingClock clock;
  TableRunner runner(table, clock, 2);
  TuneLoopOptions loop;
  loop.budget_seconds = 10;
  loop.earlier = first.end.trials;
  int committed = 0;
  const auto end = tune_loop(*search, runner, clock, loop,
                             {[&](Trial&) {
                                ++committed;
                                return Status();
                              },
                              {}});
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(committed, 10);
  EXPECT_EQ(end->trials.size(), 30U);
  EXPECT_TRUE(std::equal(first.end.trials.begin(), first.end.trials.end(), end->trials.begin(),
                         [](const Trial& a, const Trial& b) { return a.knobs == b.knobs; }));
}

TEST(TuneLoop, StopsWhenTheStoreFails) {
  const RecordedTable table = small_table(0.0, 1e9);
  const Space space(knobs_of(table));
  const auto search = find_strategy("ours")->make(space, {});
  CountingClock clock;
  TableRunner runner(table, clock, 1);
  TuneLoopOptions loop;
  loop.budget_seconds = 100;
  const auto end = tune_loop(*search, runner, clock, loop,
                             {[](Trial&) -> Status {
                                return Error{ErrorKind::exhausted, "disk full"};
                              },
                              {}});
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().what, "disk full");
}

TEST(TuneLoop, SaysSoWhenNothingWorks) {
  RecordedTable table = small_table(0.0, 1e9);
  for (TableRow& row : table.rows) row.outcome = Outcome::crashed;
  const Played played = play(table, 200, 1);
  EXPECT_FALSE(played.result.found);
  EXPECT_NE(played.result.answer.find("No setting works"), std::string::npos);
  EXPECT_LE(played.end.trials.size(), 6U) << "more trials would tell nothing new";
  EXPECT_NE(played.end.stop_reason.find("failed in the same way"), std::string::npos);
}

}  // namespace
}  // namespace ocrtune
