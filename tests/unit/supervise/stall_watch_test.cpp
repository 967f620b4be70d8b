#include "extras/supervise/stall_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

// Steps every `every` seconds until `until`.
void steps(StallWatch& watch, double every, double until) {
  for (double now = 0; now <= until; now += every) watch.progress(now);
}

TEST(StallWatch, NamesTheRankThatTheOthersWaitFor) {
  StallWatch watch(60);
  steps(watch, 1, 20);
  EXPECT_FALSE(watch.look(21, {{0, 100}, {1, 100}, {2, 100}}));
  EXPECT_FALSE(watch.look(70, {{0, 149}, {1, 149}, {2, 100}}));
  const auto stall = watch.look(101, {{0, 180}, {1, 179}, {2, 100.5}});
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->ranks, 3);
  EXPECT_THAT(stall->words, HasSubstr("rank 2 sleeps"));
}

TEST(StallWatch, NamesTheBusyOneAmongSleepers) {
  StallWatch watch(60);
  steps(watch, 1, 20);
  (void)watch.look(21, {{0, 1}, {1, 1}, {2, 1}});
  const auto stall = watch.look(101, {{0, 1}, {1, 80}, {2, 1}});
  ASSERT_TRUE(stall);
  EXPECT_THAT(stall->words, HasSubstr("rank 1 is busy"));
}

TEST(StallWatch, SlowStepsAndTheStartAreNoStall) {
  StallWatch slow(60);
  steps(slow, 30, 300);
  EXPECT_FALSE(slow.look(600, {{0, 1}}));  // ten times the usual
  EXPECT_TRUE(slow.look(1000, {{0, 1}}));
  StallWatch start(60);
  start.progress(0);
  start.progress(1);
  EXPECT_FALSE(start.look(5000, {}));  // too few to know what is usual
}

TEST(StallWatch, ProgressEndsAStall) {
  StallWatch watch(10);
  steps(watch, 1, 20);
  EXPECT_TRUE(watch.look(45, {{0, 1}, {1, 1}}));
  watch.progress(46);
  EXPECT_FALSE(watch.look(47, {{0, 1}, {1, 1}}));
}

}  // namespace
}  // namespace ocrtune
