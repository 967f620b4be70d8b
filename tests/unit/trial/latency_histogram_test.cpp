#include "trial/latency_histogram.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/stats.h"

namespace ocrtune {
namespace {

TEST(LatencyHistogram, QuantilesWithinAFifthOfAPercent) {
  Random random(1);
  LatencyHistogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 20001; ++i) {
    values.push_back(std::exp(random.uniform(std::log(1e-6), std::log(10.0))));
    histogram.add(values.back());
  }
  for (const double p : {0.001, 0.1, 0.5, 0.9, 0.99, 0.9999}) {
    EXPECT_NEAR(histogram.quantile(p) / quantile(values, p), 1, 0.004) << p;
  }
  EXPECT_EQ(histogram.quantile(1), histogram.max_seconds());
  EXPECT_NEAR(histogram.mean_seconds(), mean(values), 1e-9);
}

TEST(LatencyHistogram, OutOfRangeValuesStayCounted) {
  LatencyHistogram histogram;
  for (const double value : {-1.0, 0.0, std::nan(""), 1e9}) histogram.add(value);
  EXPECT_EQ(histogram.count(), 4);
  EXPECT_LT(histogram.quantile(0.5), 2e-9);
}

TEST(LatencyHistogram, IsEmptyAtFirst) { EXPECT_EQ(LatencyHistogram().quantile(0.5), 0); }

}  // namespace
}  // namespace ocrtune
