#include "extras/capacity/back_test.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

std::vector<ScalingPoint> points_of(const UslCurve& truth, const std::vector<int>& counts) {
  std::vector<ScalingPoint> points;
  for (int n : counts) points.push_back({n, 1, {truth.at(n), truth.at(n) * 1.01}});
  return points;
}

TEST(BackTests, PredictTheLargestCountFromTheSmallOnes) {
  const auto tests = back_tests(points_of({100, 0.05, 0.001}, {1, 2, 4, 6, 8, 16}));
  ASSERT_EQ(tests.size(), 3u);  // k = 8, 6, 4
  EXPECT_EQ(tests[0].fitted_up_to, 8);
  EXPECT_EQ(tests[2].fitted_up_to, 4);
  for (const BackTest& test : tests) {
    EXPECT_EQ(test.predicted_at, 16);
    EXPECT_NEAR(test.error, test.predicted.median / test.measured - 1, 1e-12);
  }
  EXPECT_LT(std::abs(tests[0].error), 0.08);
  EXPECT_TRUE(tests[0].covered);
  EXPECT_DOUBLE_EQ(tests[0].factor(), 2);
}

TEST(BackTests, NeedFourCounts) {
  EXPECT_TRUE(back_tests(points_of({100, 0.05, 0}, {1, 2, 4})).empty());
  EXPECT_TRUE(back_tests({}).empty());
}

TEST(BackTests, AWallThatSmallCountsDoNotShowIsNotValidated) {
  auto points = points_of({100, 0.01, 0}, {1, 2, 3, 4, 6});
  points.push_back({12, 1, {300, 303}});  // something else was full
  const auto tests = back_tests(points);
  ASSERT_FALSE(tests.empty());
  EXPECT_GT(tests[0].error, 0.15);
  EXPECT_DOUBLE_EQ(valid_factor(tests), 1);
}

TEST(ValidFactor, StopsAtTheFirstBadTest) {
  BackTest near{8, 16, {}, 100, 0.02, true};
  BackTest far{4, 16, {}, 100, 0.03, true};
  BackTest wrong{6, 16, {}, 100, 0.2, true};
  BackTest uncovered{6, 16, {}, 100, 0.1, false};
  EXPECT_DOUBLE_EQ(valid_factor({near, far}), 4);
  EXPECT_DOUBLE_EQ(valid_factor({near, wrong, far}), 2);
  EXPECT_DOUBLE_EQ(valid_factor({near, uncovered, far}), 2);
  EXPECT_DOUBLE_EQ(valid_factor({wrong}), 1);
  EXPECT_DOUBLE_EQ(valid_factor({}), 1);
}

}  // namespace
}  // namespace ocrtune
