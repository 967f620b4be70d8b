#include "tuner/models/gaussian_process.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

using namespace ocrtune;

namespace {

// Two settings of the same rate, measured in turn on a machine that slows down half way.
std::vector<GpObservation> slowing(double by, bool timed) {
  Random random(3);
  std::vector<GpObservation> seen;
  for (int i = 0; i < 40; ++i) {
    GpObservation at;
    at.point = i < 25 ? 0 : 1;
    if (i % 5 == 0) at.point = 0;
    at.row = {{static_cast<double>(at.point)}, {1.0}, timed ? i + 1.0 : -1.0};
    const double drift = i < 20 ? by : -by;
    at.value = 0.1 + drift + 0.005 * random.normal();
    at.variance = 0.005 * 0.005;
    seen.push_back(at);
  }
  return seen;
}

double gap(bool timed) {
  GaussianProcess process(1);
  process.fit(slowing(0.03, timed), 16);
  return process.forecast({{0.0}, {1.0}, -1}, 0).mean -
         process.forecast({{1.0}, {1.0}, -1}, 1).mean;
}

}  // namespace

TEST(GaussianProcess, DriftIsNotTakenForADifferenceOfSettings) {
  EXPECT_GT(gap(false), 0.02);
  EXPECT_LT(std::fabs(gap(true)), 0.01);
}

// Other values of the same observations: as unlikely as they are far off, and forecast beside.
TEST(GaussianProcess, RetellsWithOtherValues) {
  GaussianProcess process(1);
  const std::vector<GpObservation> seen = slowing(0, true);
  process.fit(seen, 16);
  std::vector<double> small, large;
  for (const GpObservation& at : seen) {
    small.push_back(at.value - 0.1);
    large.push_back(at.value + 0.9);
  }
  const std::vector<double> unlikely = process.retell({small, large});
  EXPECT_GT(unlikely[1], unlikely[0] + 3);
  const GpForecast forecast = process.forecast({{0.0}, {1.0}, -1}, 0);
  ASSERT_EQ(forecast.others.size(), 2U);
  EXPECT_NEAR(forecast.others[0], 0, 0.02);
  EXPECT_NEAR(forecast.others[1], 1, 0.05);
  process.fit(seen, 0);
  EXPECT_TRUE(process.forecast({{0.0}, {1.0}, -1}, 0).others.empty());
}

TEST(GaussianProcess, ForecastIsTheMiddleOverTime) {
  GaussianProcess process(1);
  process.fit(slowing(0.03, true), 16);
  EXPECT_NEAR(process.forecast({{0.0}, {1.0}, -1}, 0).mean, 0.1, 0.02);
}
