#include "tuner/slo/late_share.h"

#include <cmath>

#include <gtest/gtest.h>

#include "trial/workloads/service/slo.h"

namespace ocrtune {
namespace {

TEST(FitLateShare, FindsTheLineOfAnExponentialTail) {
  // M/M/1 with 1,000 services a second and a limit of 20 ms: share = exp(-(1000 - rate) / 50).
  std::vector<LateShare> seen;
  for (const double rate : {700.0, 760.0, 800.0}) {
    seen.push_back({rate, std::exp(-(1000 - rate) / 50), 10000});
  }
  const LateShareLine line = fit_late_share(seen);
  ASSERT_TRUE(line.known);
  EXPECT_NEAR(line.slope, 0.02, 1e-9);
  EXPECT_NEAR(line.rate_of(0.01), 1000 + 50 * std::log(0.01), 1e-6);
}

TEST(FitLateShare, SaysWhenItDoesNotKnow) {
  EXPECT_FALSE(fit_late_share({}).known);
  EXPECT_FALSE(fit_late_share({{700, 0.01, 1000}}).known);
  EXPECT_FALSE(fit_late_share({{700, 0, 1000}, {800, 0.01, 1000}}).known);
  EXPECT_FALSE(fit_late_share({{700, 0.02, 1000}, {800, 0.01, 1000}}).known);  // falls
}

TEST(ProvableShare, GrowsTowardsTheAllowedShareWithRequests) {
  EXPECT_LT(provable_share(0.01, 400, 0.99), 1e-6);  // not even a clean run of 400 proves it
  const double thousand = provable_share(0.01, 1000, 0.99);
  const double many = provable_share(0.01, 100000, 0.99);
  EXPECT_GT(thousand, 0);
  EXPECT_LT(thousand, 0.005);
  EXPECT_GT(many, 0.008);
  EXPECT_LT(many, 0.01);
  EXPECT_EQ(judge_slo({0.99, 1}, 100000, many * 100000, 0.99), SloVerdict::met);
}

}  // namespace
}  // namespace ocrtune
