#include "trial/watch/stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

TEST(StoppingRule, EndsAfterTheAim) {
  StoppingRule rule({.measure_seconds = 1.0});
  const double noisy[] = {90, 110, 95, 105, 100, 92, 108, 97, 103, 100};
  for (int i = 0; i < 9; ++i) {
    rule.add(window_of(noisy[i], 0.1));
    EXPECT_FALSE(rule.reason().has_value()) << i;
  }
  rule.add(window_of(noisy[9], 0.101));
  ASSERT_TRUE(rule.reason().has_value());
  EXPECT_THAT(*rule.reason(), HasSubstr("measured 1.0 s"));
}

TEST(StoppingRule, EndsEarlyWhenTheIntervalIsNarrow) {
  StoppingRule rule({.measure_seconds = 1.0});
  for (int i = 0; i < 5; ++i) rule.add(window_of(100 + 0.1 * i, 0.08));
  EXPECT_FALSE(rule.reason().has_value()) << "not before half of the aim";
  rule.add(window_of(100, 0.11));
  ASSERT_TRUE(rule.reason().has_value());
  EXPECT_THAT(*rule.reason(), HasSubstr("interval"));
}

TEST(StoppingRule, SpoiltSamplesDoNotCountButDoNotLastForEver) {
  StoppingRule rule({.measure_seconds = 1.0, .min_samples = 5, .max_factor = 2});
  for (int i = 0; i < 19; ++i) {
    rule.add(window_of(50, 0.1, "swapped"));
    EXPECT_FALSE(rule.reason().has_value());
  }
  rule.add(window_of(50, 0.1001, "swapped"));
  ASSERT_TRUE(rule.reason().has_value());
  EXPECT_THAT(*rule.reason(), HasSubstr("too few valid"));
}

TEST(StoppingRule, LongStepsNeedTheLeastNumberOfSamples) {
  StoppingRule rule({.measure_seconds = 1.0, .min_samples = 3, .max_factor = 10});
  rule.add(window_of(10, 2));
  rule.add(window_of(20, 2));
  EXPECT_FALSE(rule.reason().has_value());
  rule.add(window_of(15, 2));
  EXPECT_TRUE(rule.reason().has_value());
}

TEST(StoppingRule, SlowWindowsThatRecurAreMeasuredForTwoPeriods) {
  StoppingRule rule({.measure_seconds = 2.5});
  double seconds = 0;
  int stalls = 0;
  while (!rule.reason() && seconds < 100) {
    for (int i = 0; i < 5 && !rule.reason(); ++i, seconds += 0.3) rule.add(window_of(120 + i, 0.3));
    if (rule.reason()) break;
    rule.add(window_of(40, 0.5));
    seconds += 0.5;
    ++stalls;
  }
  EXPECT_EQ(stalls, 3) << seconds;
  EXPECT_LT(seconds, 10.1);
}

TEST(StoppingRule, ASlowWindowThatDoesNotComeAgainEndsSoon) {
  StoppingRule rule({.measure_seconds = 1.5});
  double seconds = 0;
  for (int i = 0; !rule.reason() && i < 1000; ++i, seconds += 0.2) {
    rule.add(window_of(i == 3 ? 40 : 120 + i % 3, 0.2));
  }
  EXPECT_GT(seconds, 1.5);
  EXPECT_LT(seconds, 3.5);
}

TEST(HungReason, TakesTheGreaterOfTenSecondsAndFiveSteps) {
  const SilenceRule rule;
  EXPECT_FALSE(hung_reason(rule, 9.9, 0, 0.1, true).has_value());
  EXPECT_TRUE(hung_reason(rule, 10.1, 0, 0.1, true).has_value());
  EXPECT_FALSE(hung_reason(rule, 49, 0, 10, true).has_value());
  EXPECT_TRUE(hung_reason(rule, 51, 0, 10, true).has_value());
  EXPECT_FALSE(hung_reason(rule, 29, 0, 0, false).has_value()) << "waits for a disk or a peer";
  EXPECT_TRUE(hung_reason(rule, 31, 0, 0, false).has_value()) << "idle before the first step";
}

TEST(HungReason, LeavesTimeToWhoComputes) {
  const SilenceRule rule;
  EXPECT_FALSE(hung_reason(rule, 39, 39, 0.1, true).has_value());
  EXPECT_TRUE(hung_reason(rule, 41, 41, 0.1, true).has_value());
  EXPECT_FALSE(hung_reason(rule, 119, 119, 0.1, false).has_value()) << "still starting";
  EXPECT_TRUE(hung_reason(rule, 121, 121, 0.1, false).has_value());
  EXPECT_TRUE(hung_reason(rule, 11, 0.5, 0.1, true).has_value()) << "a heartbeat is no work";
}

}  // namespace
}  // namespace ocrtune
