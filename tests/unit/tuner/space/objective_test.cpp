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
  for (const char* text : {"throughput", "latency:p99", "memory"}) {
    const auto objective = parse_objective(text);
    ASSERT_TRUE(objective.ok()) << text;
    EXPECT_EQ(objective_text(*objective), text);
  }
  EXPECT_EQ(objective_text(*parse_objective("latency")), "latency:p95");
}

TEST(Objective, RefusesOtherWords) {
  for (const char* text : {"", "speed", "energy", "latency:p42", "latency:", "memory:p95"}) {
    const auto objective = parse_objective(text);
    ASSERT_FALSE(objective.ok()) << text;
    EXPECT_THAT(objective.error().what, HasSubstr("throughput"));
  }
}

TEST(Objective, ObjectiveValueFollowsTheGoal) {
  Trial trial = ran(320);
  trial.latency = {100, 0.1, 0.11, 0.125, 0.2};
  EXPECT_EQ(objective_value_of(trial, *parse_objective("throughput")), 320);
  EXPECT_EQ(objective_value_of(trial, *parse_objective("latency:p95")), 8);
  EXPECT_EQ(objective_value_of(trial, *parse_objective("latency:p99")), 5);
  EXPECT_NEAR(step_seconds_of(ran(320), {}), 0.1, 1e-12) << "by the rate alone";
  trial.outcome = Outcome::crashed;
  EXPECT_EQ(objective_value_of(trial, {}), 0);
}

TEST(Objective, ConstraintsSayWhatTheyMiss) {
  Objective objective;
  objective.min_samples_per_second = 100;
  objective.max_step_seconds = 0.2;
  objective.max_peak_bytes = 1ULL << 30;
  EXPECT_TRUE(broken_constraint(objective, 120, 0.1, 1e9).empty());
  EXPECT_EQ(broken_constraint(objective, 80, 0.1, 1e9),
            reason<ReasonCode::rate_too_low>(Number{80, Unit::sample_rate}, as_rate(100)));
  EXPECT_EQ(broken_constraint(objective, 120, 0.3, 1e9).code, ReasonCode::steps_too_long);
  EXPECT_EQ(broken_constraint(objective, 120, 0.1, 2e9),
            reason<ReasonCode::peak_too_high>(in_bytes(2e9), in_bytes(1 << 30)));
  EXPECT_TRUE(broken_constraint(objective, 0, 0, 0).empty()) << "unknown breaks nothing";
}

TEST(Objective, ComparesInTheGoalsTerms) {
  const auto expect = [](const Reason& said, ReasonCode code, double percent) {
    EXPECT_EQ(said.code, code);
    EXPECT_NEAR(said.number(0), percent, 1e-9);
  };
  expect(compared(0.88), ReasonCode::slower, 12);
  expect(compared(1.001), ReasonCode::as_fast, 0);
  expect(compared(0.001), ReasonCode::far_slower, 0);
  expect(compared(0.8, Goal::latency), ReasonCode::steps_longer, 25);
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
