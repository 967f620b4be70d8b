#include "tuner/verdict/growth.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

constexpr double kMega = 1e6;

// A trace of one point a second: level + leak, sawtooth and noise on top.
std::vector<TracePoint> trace(double seconds, double leak, double saw_height, double saw_seconds,
                              double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<TracePoint> points;
  for (double t = 0; t < seconds; t += 1) {
    const double saw = saw_seconds > 0 ? saw_height * std::fmod(t, saw_seconds) / saw_seconds : 0;
    points.push_back({t, 2000 * kMega + leak * t + saw + noise * random.normal()});
  }
  return points;
}

TEST(Growth, LeaksAreForecastWithinAFifth) {
  for (double leak : {0.1, 0.3, 1.0, 2.5, 5.0}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto growth = fit_growth(trace(600, leak * kMega, 40 * kMega, 17, 3 * kMega, seed));
      ASSERT_TRUE(growth);
      EXPECT_TRUE(growth->certain()) << leak;
      EXPECT_NEAR(growth->per_second, leak * kMega, 0.2 * leak * kMega) << leak << " " << seed;
      EXPECT_LE(growth->low, growth->per_second);
      EXPECT_GE(growth->high, growth->per_second);
      const double truth = (16e9 - 2e9 - 600 * leak * kMega) / (leak * kMega);
      const GrowthForecast forecast = forecast_growth(*growth, 16e9, 1e9, 32 * kMega);
      EXPECT_NEAR(forecast.seconds_left, truth, 0.25 * truth) << leak;
    }
  }
}

TEST(Growth, ASawtoothIsNoAlarm) {
  for (double period : {5.0, 17.0, 30.0, 60.0}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const auto growth = fit_growth(trace(600, 0, 800 * kMega, period, 10 * kMega, seed));
      ASSERT_TRUE(growth);
      EXPECT_FALSE(forecast_growth(*growth, 4e9, 0, 32 * kMega).alarm) << period << " " << seed;
    }
  }
}

TEST(Growth, WarmUpIsLeftOut) {
  std::vector<TracePoint> points = trace(300, 0, 0, 0, kMega, 3);
  for (TracePoint& point : points) {
    if (point.seconds < 30) point.value = 60 * kMega * point.seconds;
  }
  EXPECT_FALSE(forecast_growth(*fit_growth(points, 30), 4e9, 0, 32 * kMega).alarm);
}

TEST(Growth, AnAlarmNeedsTheLimitInSight) {
  const Growth growth = *fit_growth(trace(600, kMega, 0, 0, kMega, 1));
  EXPECT_TRUE(forecast_growth(growth, 8e9, 86400, 32 * kMega).alarm);
  EXPECT_FALSE(forecast_growth(growth, 8e9, 600, 32 * kMega).alarm);
  EXPECT_FALSE(forecast_growth(growth, 1e15, 0, 32 * kMega).alarm);
}

TEST(Growth, ShrinkingNeverMeetsTheLimit) {
  const Growth growth = *fit_growth(trace(600, -kMega, 0, 0, 0, 1));
  const GrowthForecast forecast = forecast_growth(growth, 8e9, 0, 0);
  EXPECT_FALSE(forecast.alarm);
  EXPECT_TRUE(std::isinf(forecast.seconds_left));
}

TEST(Growth, TooLittleIsSaid) {
  EXPECT_FALSE(fit_growth({}));
  EXPECT_FALSE(fit_growth(trace(7, 0, 0, 0, 0, 1)));
  EXPECT_FALSE(fit_growth(std::vector<TracePoint>(20, {1.0, 2.0})));
  EXPECT_FALSE(fit_growth(trace(60, 0, 0, 0, 0, 1), 1000));
}

TEST(GrowthTrace, StaysSmallAndKeepsTheSlope) {
  GrowthTrace kept(64);
  for (const TracePoint& point : trace(20000, kMega, 40 * kMega, 17, 0, 1)) {
    kept.add(point.seconds, point.value);
  }
  EXPECT_LE(kept.points().size(), 64u);
  EXPECT_NEAR(fit_growth(kept.points())->per_second, kMega, 0.05 * kMega);
}

}  // namespace
}  // namespace ocrtune
