#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/table_runner.h"
#include "tuner/session/tune_loop.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

// Every trial ends as `end` says.
class EndingRunner : public Runner {
 public:
  EndingRunner(Clock& clock, std::function<void(Trial&, const TrialLimits&)> end)
      : clock_(&clock), end_(std::move(end)) {}
  Trial run(const Knobs& /*knobs*/, const TrialLimits& limits) override {
    Trial trial;
    trial.seconds = 0.1;
    end_(trial, limits);
    clock_->sleep_seconds(trial.seconds);
    return trial;
  }

 private:
  Clock* clock_;
  std::function<void(Trial&, const TrialLimits&)> end_;
};

Result<TuneLoopEnd> loop_of(std::function<void(Trial&, const TrialLimits&)> end) {
  std::vector<Knobs> points;
  for (int batch : {4, 8, 16, 32}) {
    points.emplace_back();
    points.back().batch = batch;
  }
  const Space space(points);
  SearchOptions options;
  options.first = {points[0]};
  options.first_trial_seconds = 1;
  const auto search = make_search(space, options);
  CountingClock clock;
  EndingRunner runner(clock, std::move(end));
  TuneLoopOptions loop;
  loop.budget_seconds = 10;
  loop.limits.max_seconds = 60;
  return tune_loop(*search, runner, clock, loop, {});
}

TEST(TuneLoopStarts, WhatTheSystemRefusesIsNoFaultOfASetting) {
  for (const char* cause : {"trial_dir", "resources"}) {
    const auto end = loop_of([&](Trial& trial, const TrialLimits&) {
      trial.outcome = Outcome::crashed;
      trial.cause = cause;
      trial.reason = "open a pipe: Too many open files";
    });
    ASSERT_FALSE(end) << cause;
    EXPECT_EQ(end.error().kind, ErrorKind::exhausted);
    EXPECT_THAT(end.error().what, HasSubstr("could be started: open a pipe"));
  }
}

TEST(TuneLoopStarts, ACommandThatFailsIsAResult) {
  const auto end = loop_of([](Trial& trial, const TrialLimits&) {
    trial.outcome = Outcome::crashed;
    trial.cause = "exit";
    trial.reason = "exit code 2";
  });
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->trials.empty());
}

TEST(TuneLoopStarts, TheOnlyTrialKeepsWhatWasHeardOfIt) {
  const auto end = loop_of([](Trial& trial, const TrialLimits& limits) {
    trial.outcome = Outcome::timed_out;
    trial.cause = "no_metric";
    trial.reason = "not one of 9 lines printed holds a number";
    trial.seconds = limits.max_seconds;
  });
  ASSERT_TRUE(end);
  ASSERT_EQ(end->trials.size(), 1U);
  EXPECT_EQ(end->trials[0].outcome, Outcome::timed_out);
  EXPECT_THAT(end->trials[0].reason, HasSubstr("budget ended after 10.5 s"));
}

TEST(TuneLoopStarts, ASettingThatShowsNoSpeedLeavesTimeToTheOthers) {
  int trials = 0;
  const auto end = loop_of([&](Trial& trial, const TrialLimits& limits) {
    if (++trials == 1) {
      trial.outcome = Outcome::ok;
      trial.samples_per_second = 10;
      trial.seconds = 1;
      return;
    }
    trial.outcome = Outcome::timed_out;
    trial.cause = "no_metric";
    trial.seconds = limits.max_seconds;
  });
  ASSERT_TRUE(end);
  ASSERT_GE(end->trials.size(), 3U);
  EXPECT_EQ(end->trials[1].outcome, Outcome::timed_out);
  EXPECT_LT(end->trials[1].seconds, 5);
}

}  // namespace
}  // namespace ocrtune
