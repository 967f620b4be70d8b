#include "tuner/verdict/scaling.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

std::vector<ScalingPoint> measure(const UslCurve& truth, const std::vector<int>& counts,
                                  double noise, int repeats = 3, std::uint64_t seed = 7) {
  Random random(seed);
  std::vector<ScalingPoint> points;
  for (int n : counts) {
    ScalingPoint point{n, 1, {}};
    for (int i = 0; i < repeats; ++i) {
      point.samples_per_second.push_back(truth.at(n) * std::exp(noise * random.normal()));
    }
    points.push_back(point);
  }
  return points;
}

TEST(UslCurve, MatchesTheLawByHand) {
  const UslCurve curve{100, 0.1, 0.01};
  EXPECT_DOUBLE_EQ(curve.at(1), 100);
  EXPECT_DOUBLE_EQ(curve.at(4), 400 / (1 + 0.3 + 0.12));
}

TEST(FitScaling, RecoversACurveWithoutNoise) {
  const UslCurve truth{50, 0.06, 0.002};
  const auto fit = fit_scaling(measure(truth, {1, 2, 3, 4, 6, 8, 12, 16}, 0));
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->curve.gamma, 50, 0.2);
  EXPECT_NEAR(fit->curve.sigma, 0.06, 0.004);
  EXPECT_NEAR(fit->curve.kappa, 0.002, 0.0003);
  EXPECT_NEAR(fit->curve.at(16) / truth.at(16), 1, 0.003);
}

TEST(FitScaling, IntervalsHoldTheTruthUnderNoise) {
  const UslCurve truth{50, 0.06, 0.002};
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ScalingOptions options;
    options.rounds = 120;
    const auto fit = fit_scaling(measure(truth, {1, 2, 4, 6, 8}, 0.03, 3, seed), options);
    ASSERT_TRUE(fit.ok());
    const Interval at16 = predict_rate(*fit, 16);
    EXPECT_LE(at16.low, at16.median);
    EXPECT_LE(at16.median, at16.high);
    held += at16.low <= truth.at(16) && truth.at(16) <= at16.high;
  }
  EXPECT_GE(held, 49);  // 54 expected of 60 at 90 %
}

TEST(FitScaling, SameSeedSameAnswer) {
  const auto points = measure({80, 0.03, 0.001}, {1, 2, 4, 8}, 0.02);
  const auto one = fit_scaling(points);
  const auto two = fit_scaling(points);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(predict_rate(*one, 32).low, predict_rate(*two, 32).low);
  EXPECT_EQ(predict_rate(*one, 32).high, predict_rate(*two, 32).high);
}

TEST(FitScaling, OnePointKnowsOnlyItself) {
  const auto fit = fit_scaling({{4, 2, {200, 202, 198}}});
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(predict_rate(*fit, 4).median, 200, 8);
  const Interval far = predict_rate(*fit, 16);
  EXPECT_GT(far.high / far.low, 1.5);  // not certain of anything
}

TEST(FitScaling, TwoPointsStayWideBeyondThem) {
  const auto fit = fit_scaling(measure({100, 0.05, 0.002}, {1, 2}, 0.01));
  ASSERT_TRUE(fit.ok());
  const Interval near = predict_rate(*fit, 2);
  const Interval far = predict_rate(*fit, 16);
  EXPECT_LT(near.high / near.low, 1.2);
  EXPECT_GT(far.high / far.low, 1.5);
}

TEST(FitScaling, FlatDataStaysFlat) {
  const auto fit = fit_scaling(measure({100, 1, 0}, {1, 2, 4, 8}, 0.005));
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(predict_rate(*fit, 8).median, 100, 4);
}

TEST(FitScaling, RetrogradeDataFalls) {
  const UslCurve truth{100, 0.02, 0.03};
  const auto fit = fit_scaling(measure(truth, {1, 2, 4, 8, 16}, 0.01));
  ASSERT_TRUE(fit.ok());
  EXPECT_LT(fit->curve.at(16), fit->curve.at(6));
}

TEST(FitScaling, AnOutlierHardlyBendsTheCurve) {
  const UslCurve truth{100, 0.04, 0.001};
  auto points = measure(truth, {1, 2, 3, 4, 6, 8, 12, 16}, 0.01);
  for (double& rate : points[4].samples_per_second) rate *= 0.5;
  const auto fit = fit_scaling(points);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->curve.at(16) / truth.at(16), 1, 0.06);
}

TEST(FitScaling, SuperlinearGrowthIsClamped) {
  const auto fit = fit_scaling({{1, 1, {100}}, {2, 1, {230}}, {4, 1, {480}}});
  ASSERT_TRUE(fit.ok());
  EXPECT_LT(fit->curve.sigma, 0.02);
}

TEST(FitScaling, RefusesWhatWasNotMeasured) {
  EXPECT_FALSE(fit_scaling({}).ok());
  const auto zero = fit_scaling({{1, 1, {0, -3, std::nan("")}}, {0, 1, {100}}});
  ASSERT_FALSE(zero.ok());
  EXPECT_EQ(zero.error().kind, ErrorKind::invalid);
}

TEST(MergePoints, JoinsRepeatsAndDropsWhatIsNoRate) {
  const auto merged = merge_points({{4, 1, {30, 0}}, {1, 1, {10}}, {4, 1, {32, INFINITY}}});
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].processes, 1);
  EXPECT_THAT(merged[1].samples_per_second, testing::ElementsAre(30, 32));
}

}  // namespace
}  // namespace ocrtune
