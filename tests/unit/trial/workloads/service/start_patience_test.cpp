#include "trial/workloads/service/start_patience.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(StartPatience, EndsAfterIdleTimeWhateverCame) {
  StartPatience patience(60, 600, 100);
  for (double now = 100; now <= 130; now += 0.5) patience.look(now, 0.5 * (now - 100));
  for (double now = 130; now <= 189; now += 0.5) patience.look(now, 15 + 0.01 * (now - 130));
  EXPECT_FALSE(patience.over(189));
  EXPECT_TRUE(patience.over(192));
}

TEST(StartPatience, WorkIsWaitedForLonger) {
  StartPatience patience(60, 600, 0);
  for (double now = 0; now <= 599; ++now) {
    patience.look(now, 0.9 * now);
    ASSERT_FALSE(patience.over(now)) << now;
  }
  EXPECT_TRUE(patience.over(601));
}

}  // namespace
}  // namespace ocrtune
