#include "trial/watch/step_windows.h"

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

StepEvent step(int rank, std::int64_t samples, double seconds, std::int64_t steps = 1) {
  StepEvent event;
  event.rank = rank;
  event.steps = steps;
  event.samples = samples;
  event.seconds = seconds;
  event.times.compute_seconds = seconds / static_cast<double>(steps);
  return event;
}

TEST(StepWindows, ClosesWhenEveryRankHasItsShare) {
  StepWindows windows(2, 0.2);
  EXPECT_FALSE(windows.add(step(0, 8, 0.1)).has_value());
  EXPECT_FALSE(windows.add(step(0, 8, 0.1)).has_value());
  EXPECT_FALSE(windows.add(step(1, 8, 0.1)).has_value());
  const auto sample = windows.add(step(1, 8, 0.1));
  ASSERT_TRUE(sample.has_value());
  EXPECT_DOUBLE_EQ(sample->samples_per_second(), 160);
  EXPECT_DOUBLE_EQ(sample->seconds, 0.2);
  EXPECT_EQ(sample->steps, 2);
  EXPECT_DOUBLE_EQ(sample->step.compute_seconds, 0.1);
  EXPECT_TRUE(sample->clean());
}

TEST(StepWindows, UsesEachRanksOwnClock) {
  StepWindows windows(2, 0.1);
  windows.add(step(0, 8, 0.1));
  const auto sample = windows.add(step(1, 16, 0.4, 2));  // half the rate of rank 0
  ASSERT_TRUE(sample.has_value());
  EXPECT_DOUBLE_EQ(sample->samples_per_second(), 80 + 40);
  EXPECT_DOUBLE_EQ(sample->step.compute_seconds, 0.15);  // mean over ranks of the mean step
}

TEST(StepWindows, WeighsJoinedStepsByTheirNumber) {
  StepWindows windows(1, 0.3);
  windows.add(step(0, 30, 0.1, 10));
  const auto sample = windows.add(step(0, 3, 0.2, 1));
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->steps, 11);
  EXPECT_DOUBLE_EQ(sample->samples_per_second(), 110);
  EXPECT_NEAR(sample->step.compute_seconds, 0.3 / 11, 1e-12);
}

TEST(StepWindows, OneStepLongerThanAWindowIsAWindow) {
  StepWindows windows(1, 0.2);
  ASSERT_TRUE(windows.add(step(0, 4, 7)).has_value());
}

Trial trial_at(const std::vector<double>& rates) {
  Trial trial;
  for (const double rate : rates) trial.samples.push_back(window_of(rate, 0.5));
  return trial;
}

// Of the figures that two ranks of Paddle gave.
TEST(WarmUp, AFirstWindowUnlikeTheRestIsLeftOut) {
  const struct {
    std::vector<double> rates;
    bool left_out;
  } cases[] = {
      {{186, 218, 216, 234, 221, 231, 245}, true},
      {{206, 224, 226, 227, 212, 215, 229}, true},
      {{227, 215, 236, 231, 223, 227, 223, 234}, false},
      {{115, 114, 118, 118, 117, 116, 117, 116}, false},
      {{100, 100.5, 100.5, 100.5, 100.5}, false},  // less than 2 %
      {{300, 224, 226, 227, 222}, true},           // a burst is no steady state either
      {{186, 218, 216, 234}, false},               // of three nothing can be said
  };
  for (const auto& one : cases) {
    Trial trial = trial_at(one.rates);
    leave_out_warm_up(trial);
    EXPECT_EQ(trial.samples.size(), one.rates.size() - (one.left_out ? 1 : 0)) << one.rates[0];
    EXPECT_EQ(trial.evidence.size(), one.left_out ? 1U : 0U) << one.rates[0];
  }
  Trial disturbed = trial_at({186, 218, 216, 234, 221, 231, 245});
  disturbed.samples[0].interference.spoilt_by = "a neighbour";
  leave_out_warm_up(disturbed);
  EXPECT_EQ(disturbed.samples.size(), 7U) << "it does not count anyway";
}

TEST(StepWindows, ForgetsAndIgnores) {
  StepWindows windows(2, 0.1);
  windows.add(step(0, 1000, 0.1));
  windows.restart();
  EXPECT_FALSE(windows.add(step(1, 8, 0.1)).has_value());
  EXPECT_FALSE(windows.add(step(2, 8, 0.1)).has_value()) << "no such rank";
  EXPECT_FALSE(windows.add(step(-1, 8, 0.1)).has_value());
  const auto sample = windows.add(step(0, 8, 0.1));
  ASSERT_TRUE(sample.has_value());
  EXPECT_DOUBLE_EQ(sample->samples_per_second(), 160);
}

}  // namespace
}  // namespace ocrtune
