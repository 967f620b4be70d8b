#include "tuner/space/objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/verdict/pareto.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

Trial ran(double rate) {
  Trial trial;
  trial.knobs.nproc = 2;
  trial.knobs.batch = 16;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  return trial;
}

TEST(Objective, ReadsItsOwnText) {
  for (const char* text : {"throughput", "latency:p99", "memory", "energy"}) {
    const auto objective = parse_objective(text);
    ASSERT_TRUE(objective.ok()) << text;
    EXPECT_EQ(objective_text(*objective), text);
  }
  EXPECT_EQ(objective_text(*parse_objective("latency")), "latency:p95");
}

TEST(Objective, RefusesOtherWords) {
  for (const char* text : {"", "speed", "latency:p42", "latency:", "memory:p95"}) {
    const auto objective = parse_objective(text);
    ASSERT_FALSE(objective.ok()) << text;
    EXPECT_THAT(objective.error().what, HasSubstr("throughput"));
  }
}

TEST(Objective, ObjectiveValueFollowsTheGoal) {
  Trial trial = ran(320);
  trial.latency = {100, 0.1, 0.11, 0.125, 0.2};
  trial.joules_per_sample = 0.5;
  EXPECT_EQ(objective_value_of(trial, *parse_objective("throughput")), 320);
  EXPECT_EQ(objective_value_of(trial, *parse_objective("latency:p95")), 8);
  EXPECT_EQ(objective_value_of(trial, *parse_objective("latency:p99")), 5);
  EXPECT_EQ(objective_value_of(trial, *parse_objective("energy")), 2);
  EXPECT_EQ(objective_value_of(ran(320), *parse_objective("energy")), 0) << "no counter";
  EXPECT_NEAR(step_seconds_of(ran(320), {}), 0.1, 1e-12) << "by the rate alone";
  trial.outcome = Outcome::crashed;
  EXPECT_EQ(objective_value_of(trial, {}), 0);
}

TEST(Objective, ConstraintsSayWhatTheyMiss) {
  Objective objective;
  objective.min_samples_per_second = 100;
  objective.max_step_seconds = 0.2;
  objective.max_peak_bytes = 1ULL << 30;
  EXPECT_EQ(broken_constraint(objective, 120, 0.1, 1e9), "");
  EXPECT_THAT(broken_constraint(objective, 80, 0.1, 1e9), HasSubstr("at least 100"));
  EXPECT_THAT(broken_constraint(objective, 120, 0.3, 1e9), HasSubstr("steps take up to"));
  EXPECT_THAT(broken_constraint(objective, 120, 0.1, 2e9), HasSubstr("1.0 GiB"));
  EXPECT_EQ(broken_constraint(objective, 0, 0, 0), "") << "unknown breaks nothing";
}

TEST(Objective, ComparesInTheGoalsWords) {
  EXPECT_EQ(compared_words(0.88), "12 % slower");
  EXPECT_EQ(compared_words(1.001), "as fast");
  EXPECT_EQ(compared_words(0.8, Goal::latency), "steps 25 % longer");
  EXPECT_EQ(compared_words(1.1, Goal::energy), "10 % more samples a joule");
}

SettingSummary setting(double rate, double gigabytes) {
  SettingSummary summary;
  summary.samples_per_second = {rate, rate, rate};
  summary.peak_bytes = static_cast<std::uint64_t>(gigabytes * 1e9);
  return summary;
}

TEST(Pareto, KeepsWhatNothingBeats) {
  std::vector<SettingSummary> settings = {setting(100, 4), setting(90, 5), setting(80, 2),
                                          setting(80, 2), setting(70, 1)};
  settings.push_back(setting(200, 1));
  settings.back().outcome = Outcome::crashed;
  const auto axes = pareto_axes(settings, false);
  EXPECT_EQ(axes, (std::vector<std::string>{"samples_per_second", "peak_bytes"}));
  std::vector<double> rates;
  for (const SettingSummary& member : pareto_set(settings, axes)) {
    rates.push_back(member.samples_per_second.median);
  }
  EXPECT_EQ(rates, (std::vector<double>{100, 80, 70}));
}

}  // namespace
}  // namespace ocrtune
