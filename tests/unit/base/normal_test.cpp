#include "base/normal.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(Normal, HoldsItsShares) {
  EXPECT_DOUBLE_EQ(normal_cdf(0), 0.5);
  EXPECT_NEAR(normal_cdf(1.959964), 0.975, 1e-7);
  EXPECT_NEAR(normal_cdf(-8), 6.22e-16, 1e-17);
}

TEST(Normal, ARatioOfTwoIntervalsHoldsBothErrors) {
  const Interval ratio = ratio_interval({200, 180, 220}, {100, 95, 105});
  EXPECT_DOUBLE_EQ(ratio.median, 2);
  EXPECT_NEAR(ratio.high / 2, std::exp(std::hypot(std::log(1.1), std::log(1.05))), 1e-12);
  EXPECT_NEAR(ratio.low * ratio.high, 4, 1e-12);
  EXPECT_EQ(ratio_interval({}, {100, 95, 105}).median, 0);
  EXPECT_NEAR(p_of_no_change({1.1, 1.0, 1.21}), 0.05, 1e-3);
  EXPECT_EQ(p_of_no_change({}), 1);
}

}  // namespace
}  // namespace ocrtune
