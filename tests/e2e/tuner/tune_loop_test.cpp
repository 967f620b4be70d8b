#include "tuner/session/tune_loop.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
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
  options.safety.margin = 0.05;
  options.first_trial_seconds = 1;
  options.seed = seed;
  Knobs baseline;
  baseline.batch = 4;
  options.first = {baseline};
  const auto search = make_search(space, options);
  CountingClock clock;
  TableRunner runner(table, clock, seed);
  TuneLoopOptions loop;
  loop.budget_seconds = budget;
  auto end = tune_loop(*search, runner, clock, loop, {});
  RecommendOptions recommend_options;
  recommend_options.baseline = baseline;
  recommend_options.limit_bytes = table.memory_bytes;
  recommend_options.margin = options.safety.margin;
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
    options.safety.margin = 0.05;
    options.first = {played.end.trials[0].knobs};
    const auto search = make_search(space, options);
    for (const Trial& trial : played.end.trials) search->tell(trial);
    RecommendOptions recommend_options;
    recommend_options.baseline = played.end.trials[0].knobs;
    recommend_options.limit_bytes = table.memory_bytes;
    recommend_options.margin = options.safety.margin;
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
  options.safety.margin = 0.05;
  options.first_trial_seconds = 1;
  const auto search = make_search(space, options);
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

// Every trial ends after ten seconds, with what it is given.
class TenSeconds : public Runner {
 public:
  TenSeconds(Clock& clock, Outcome outcome) : clock_(clock), outcome_(outcome) {}
  Trial run(const Knobs&, const TrialLimits& limits) override {
    Trial trial;
    trial.outcome = outcome_;
    trial.cause = outcome_ == Outcome::hung ? "silence" : "";
    trial.seconds = std::min(10.0, limits.max_seconds);
    clock_.sleep_seconds(trial.seconds);
    return trial;
  }

 private:
  Clock& clock_;
  Outcome outcome_;
};

TEST(TuneLoop, AHangIsNotTheBudgetsEnd) {
  const Space space(knobs_of(small_table(0.0, 1e9)));
  const auto outcomes = [&](Outcome outcome) {
    const auto search = make_search(space, {});
    CountingClock clock;
    TenSeconds runner(clock, outcome);
    TuneLoopOptions loop;
    loop.budget_seconds = 15;
    loop.limits.max_seconds = 90;  // more than the budget
    const auto end = tune_loop(*search, runner, clock, loop, {});
    std::vector<Outcome> all;
    for (const Trial& trial : end->trials) all.push_back(trial.outcome);
    return all;
  };
  const auto hung = outcomes(Outcome::hung);
  ASSERT_FALSE(hung.empty());
  EXPECT_EQ(hung, std::vector<Outcome>(hung.size(), Outcome::hung)) << "none is called skipped";
  const auto timed_out = outcomes(Outcome::timed_out);
  ASSERT_FALSE(timed_out.empty());
  EXPECT_EQ(timed_out.front(), Outcome::timed_out);
}

TEST(TuneLoop, StopsWhenTheStoreFails) {
  const RecordedTable table = small_table(0.0, 1e9);
  const Space space(knobs_of(table));
  const auto search = make_search(space, {});
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

// A framework on two CPUs: 12 s of start and 12 s of steps, three times that with 11 processes.
class SlowStart : public Runner {
 public:
  explicit SlowStart(CountingClock& clock) : clock_(&clock) {}
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial;
    trial.knobs = knobs;
    trial.start_seconds = 12 * std::max(1.0, knobs.nproc / 2.0);
    trial.seconds = std::min(trial.start_seconds + 12, limits.max_seconds);
    clock_->sleep_seconds(trial.seconds);
    trial.peak_bytes = static_cast<std::uint64_t>(1e9 * knobs.nproc);
    trial.outcome = trial.seconds > 60 ? Outcome::timed_out : Outcome::ok;
    const double used = std::min(2, knobs.nproc);
    trial.samples_per_second =
        trial.ok() ? 30 * used * knobs.batch / (knobs.batch + 8.0) / knobs.threads : 0;
    trial.samples.push_back(window_of(trial.samples_per_second));
    return trial;
  }

 private:
  CountingClock* clock_;
};

TuneLoopEnd tune_slow_start(const std::vector<int>& processes, const std::vector<int>& threads,
                            const std::vector<int>& batches, double budget) {
  std::vector<Knobs> points;
  for (const int n : processes) {
    for (const int t : threads) {
      for (const int b : batches) {
        Knobs knobs;
        knobs.nproc = n;
        knobs.threads = t;
        knobs.batch = b;
        points.push_back(knobs);
      }
    }
  }
  Space space(std::move(points));
  SearchOptions options;
  options.safety.limit_bytes = 22000000000;
  options.cpus = 2;
  options.cores = 1.6;
  options.first_trial_seconds = 9;
  Knobs own;
  own.batch = batches.back();
  options.first = {own};
  for (const int rule : {11, 7}) {
    Knobs knobs = own;
    knobs.nproc = rule;
    if (space.find(knobs) >= 0) options.first.push_back(knobs);
  }
  const auto search = make_search(space, options);
  CountingClock clock;
  SlowStart runner(clock);
  TuneLoopOptions loop;
  loop.budget_seconds = budget;
  return tune_loop(*search, runner, clock, loop, {}).value();
}

TEST(TuneLoop, SharesOutTheCpusBeforeAnythingElse) {
  const TuneLoopEnd end = tune_slow_start({1, 2, 4, 7, 11}, {1, 2}, {4, 8, 16, 32, 64}, 460);
  ASSERT_GE(end.trials.size(), 10U);
  EXPECT_EQ(end.trials[0].phase, "baseline");
  EXPECT_EQ(end.trials[1].knobs.nproc, 2);
  EXPECT_EQ(end.trials[1].knobs.threads, 1);
  EXPECT_EQ(end.trials[1].knobs.batch, 64);
  double crowded = 0;
  for (const Trial& trial : end.trials) crowded += trial.knobs.nproc > 4 ? trial.seconds : 0;
  EXPECT_LE(crowded, 0.4 * 460) << "more processes than CPUs must not take the budget";
}

TEST(TuneLoop, ThreeSettingsFitABudgetOfThree) {
  const TuneLoopEnd end = tune_slow_start({1, 2}, {1}, {16, 64}, 75);
  ASSERT_GE(end.trials.size(), 3U);
  EXPECT_EQ(end.trials[1].knobs.nproc, 2);
  EXPECT_GE(end.seconds, 0.67 * 75);
}

TEST(TuneLoop, SaysSoWhenNothingWorks) {
  RecordedTable table = small_table(0.0, 1e9);
  for (TableRow& row : table.rows) row.outcome = Outcome::crashed;
  const Played played = play(table, 200, 1);
  EXPECT_FALSE(played.result.found);
  EXPECT_EQ(played.result.answer.code, ReasonCode::none_works);
  EXPECT_LE(played.end.trials.size(), 6U) << "more trials would tell nothing new";
  EXPECT_NE(played.end.stop_reason.find("failed in the same way"), std::string::npos)
      << played.end.stop_reason;
}

}  // namespace
}  // namespace ocrtune
