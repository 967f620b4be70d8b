#include "trial/watch/step_windows.h"

#include <gtest/gtest.h>

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
  EXPECT_DOUBLE_EQ(sample->samples_per_second, 160);
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
  EXPECT_DOUBLE_EQ(sample->samples_per_second, 80 + 40);
  EXPECT_DOUBLE_EQ(sample->step.compute_seconds, 0.15);  // mean over ranks of the mean step
}

TEST(StepWindows, WeighsJoinedStepsByTheirNumber) {
  StepWindows windows(1, 0.3);
  windows.add(step(0, 30, 0.1, 10));
  const auto sample = windows.add(step(0, 3, 0.2, 1));
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->steps, 11);
  EXPECT_DOUBLE_EQ(sample->samples_per_second, 110);
  EXPECT_NEAR(sample->step.compute_seconds, 0.3 / 11, 1e-12);
}

TEST(StepWindows, OneStepLongerThanAWindowIsAWindow) {
  StepWindows windows(1, 0.2);
  ASSERT_TRUE(windows.add(step(0, 4, 7)).has_value());
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
  EXPECT_DOUBLE_EQ(sample->samples_per_second, 160);
}

}  // namespace
}  // namespace ocrtune
