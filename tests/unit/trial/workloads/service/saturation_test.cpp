#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "trial/workloads/service/load_generator.h"

namespace ocrtune {
namespace {

// `rate` requests a second against `capacity` answers a second, looked at every 10 ms.
bool watched(double rate, double capacity, double seconds) {
  SaturationWatch watch;
  for (int i = 0; i * 0.01 <= seconds; ++i) {
    const double at = i * 0.01;
    const auto issued = static_cast<std::int64_t>(rate * at);
    watch.observe(at, issued, std::min(issued, static_cast<std::int64_t>(capacity * at)));
  }
  return watch.saturated();
}

TEST(SaturationWatch, SeesALineThatGrows) {
  EXPECT_TRUE(watched(1500, 1000, 3));
  EXPECT_TRUE(watched(1100, 1000, 30));
  EXPECT_TRUE(watched(1100, 1000, 3000));  // thinned points
}

TEST(SaturationWatch, IsQuietWhereTheTargetKeepsUpOrNothingIsKnown) {
  EXPECT_FALSE(watched(1000, 1000, 30));
  EXPECT_FALSE(watched(1500, 1000, 1));  // under two seconds
  EXPECT_FALSE(watched(1010, 1000, 30));
  EXPECT_FALSE(SaturationWatch().saturated());
}

TEST(SaturationWatch, OneStallIsNoGrowth) {
  SaturationWatch watch;
  for (int i = 0; i <= 300; ++i) {
    const double at = i * 0.01;
    const auto issued = static_cast<std::int64_t>(1000 * at);
    const bool stalled = at > 2.5 && at < 2.95;
    watch.observe(at, issued, stalled ? 2500 : issued);
    ASSERT_FALSE(watch.saturated()) << at;
  }
}

}  // namespace
}  // namespace ocrtune
