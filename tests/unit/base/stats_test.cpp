#include "base/stats.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

double exact_at_most(int successes, int trials, double share) {
  double sum = 0;
  for (int k = 0; k <= successes; ++k) {
    sum +=
        std::exp(std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0) +
                 k * std::log(share) + (trials - k) * std::log1p(-share));
  }
  return sum;
}

TEST(Stats, OrderStatistics) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(stddev({1, 3}), 1.4142135623730951);
  EXPECT_NEAR(median_absolute_deviation({1, 1, 2, 2, 4, 6, 9}), 1.4826, 1e-12);
}

TEST(Stats, BootstrapCoversTheTruth) {
  int covered = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    std::vector<double> values(25);
    for (double& value : values) value = 10 + random.normal();
    const Interval interval = bootstrap_median(values, 0.95, seed, 400);
    if (interval.low <= 10 && 10 <= interval.high) ++covered;
  }
  EXPECT_GE(covered, 180);  // nominal 190
  EXPECT_LE(covered, 199);  // an interval that always covers says nothing
}

TEST(Stats, RatioInterval) {
  const Interval ratio = bootstrap_ratio({20, 21, 19, 20}, {10, 10, 11, 9});
  EXPECT_DOUBLE_EQ(ratio.median, 2);
  EXPECT_LT(ratio.low, 2);
  EXPECT_GT(ratio.high, 2);
  EXPECT_DOUBLE_EQ(bootstrap_ratio({1}, {}).median, 0);
}

TEST(Student95, NarrowsWithFreedom) {
  EXPECT_DOUBLE_EQ(t_quantile_95(0.5), 12.706);
  EXPECT_DOUBLE_EQ(t_quantile_95(4), 2.776);
  EXPECT_NEAR(t_quantile_95(13.5), 2.152, 0.003);
  EXPECT_NEAR(t_quantile_95(60), 2.000, 0.003);
  EXPECT_NEAR(t_quantile_95(1e12), 1.960, 1e-9);
}

TEST(BinomialTails, MatchTheSum) {
  for (const int trials : {5, 100, 3000}) {
    for (const double share : {0.01, 0.2, 0.9}) {
      for (const int successes : {0, 1, trials / 50, trials / 4, trials - 1}) {
        EXPECT_NEAR(binomial_at_most(successes, trials, share),
                    exact_at_most(successes, trials, share), 1e-9)
            << trials << " " << share << " " << successes;
      }
    }
  }
  EXPECT_EQ(binomial_at_most(-1, 10, 0.5), 0);
  EXPECT_EQ(binomial_at_most(10, 10, 0.5), 1);
  EXPECT_EQ(binomial_at_least(0, 10, 0.5), 1);
  EXPECT_NEAR(binomial_at_least(10, 10, 0.5), 1.0 / 1024, 1e-12);
}

}  // namespace
}  // namespace ocrtune
