#include "trial/workloads/service/slo.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

TEST(Slo, MillisecondsHaveThreeDigitsAndNoExponent) {
  EXPECT_EQ(milliseconds_text(0.00857), "8.57");
  EXPECT_EQ(milliseconds_text(0.99961), "1000");
  EXPECT_EQ(milliseconds_text(8.5731), "8573");
}

TEST(ParseSlo, ReadsPercentileAndTime) {
  const auto slo = parse_slo("p99=50ms");
  ASSERT_TRUE(slo.ok());
  EXPECT_DOUBLE_EQ(slo->percentile, 0.99);
  EXPECT_DOUBLE_EQ(slo->seconds, 0.05);
  EXPECT_NEAR(parse_slo("p99.9=2s")->percentile, 0.999, 1e-12);
  EXPECT_EQ(slo_target(*slo), "p99 under 50 ms");
}

TEST(ParseSlo, RefusesInOneLine) {
  for (const char* text : {"", "p99", "99=50ms", "p99=", "p99=fast", "p=50ms", "p0=50ms",
                           "p100=50ms", "p99=-1s", "p99=0"}) {
    const auto slo = parse_slo(text);
    ASSERT_FALSE(slo.ok()) << text;
    EXPECT_EQ(slo.error().kind, ErrorKind::usage);
    EXPECT_THAT(slo.error().what, testing::HasSubstr(std::string("'") + text + "'"));
  }
}

TEST(ParseSlo, ATimeNeedsItsUnit) {
  for (const char* text : {"p99=200", "p99=0.2", "p95=1e3"}) {
    const auto slo = parse_slo(text);
    ASSERT_FALSE(slo.ok()) << text;
    EXPECT_EQ(slo.error().kind, ErrorKind::usage);
    EXPECT_THAT(slo.error().what, testing::HasSubstr(std::string(text) + "ms"));
    EXPECT_TRUE(parse_slo(std::string(text) + "ms").ok());
    EXPECT_TRUE(parse_slo(std::string(text) + "s").ok());
  }
}

TEST(LeastRequests, MatchTheKnownCounts) {
  EXPECT_EQ(min_requests(0.99, 0.99), 459);
  EXPECT_EQ(min_requests(0.95, 0.99), 90);
  EXPECT_EQ(min_requests(0.90, 0.99), 44);
  // One late request costs about as many again: 1 - p must again be improbable.
  EXPECT_EQ(min_requests(0.99, 0.99, 1), 662);
}

TEST(JudgeSlo, TurnsAtTheLeastCount) {
  const LatencySlo slo{0.99, 0.05};
  EXPECT_EQ(judge_slo(slo, 458, 0, 0.99), SloVerdict::undecided);
  EXPECT_EQ(judge_slo(slo, 459, 0, 0.99), SloVerdict::met);
  EXPECT_EQ(judge_slo(slo, 661, 1, 0.99), SloVerdict::undecided);
  EXPECT_EQ(judge_slo(slo, 662, 1, 0.99), SloVerdict::met);
  EXPECT_EQ(judge_slo(slo, 100, 0, 0.99), SloVerdict::undecided);
  EXPECT_EQ(judge_slo(slo, 100, 6, 0.99), SloVerdict::violated);
  EXPECT_EQ(judge_slo(slo, 0, 0, 0.99), SloVerdict::undecided);
}

TEST(JudgeSlo, ClusteredRequestsCountForLess) {
  const LatencySlo slo{0.99, 0.05};
  EXPECT_EQ(judge_slo(slo, 459, 0, 0.99, 2), SloVerdict::undecided);
  EXPECT_EQ(judge_slo(slo, 918, 0, 0.99, 2), SloVerdict::met);
  EXPECT_EQ(judge_slo(slo, 100, 6, 0.99, 6), SloVerdict::undecided);
}

TEST(BlockCounts, IndependentEventsCountFully) {
  Random random(1);
  BlockCounts counts;
  for (int i = 0; i < 200000; ++i) counts.add(random.uniform() < 0.02);
  EXPECT_EQ(counts.requests(), 200000);
  EXPECT_NEAR(static_cast<double>(counts.events()), 4000, 250);
  EXPECT_LT(counts.design_effect(0), 2);
}

TEST(BlockCounts, ClustersOfThirtyCountAsOne) {
  Random random(1);
  BlockCounts counts;
  for (int i = 0; i < 10000; ++i) {
    const bool late = random.uniform() < 0.02;
    for (int j = 0; j < 30; ++j) counts.add(late);
  }
  EXPECT_GT(counts.design_effect(0), 20);
  EXPECT_LT(counts.design_effect(0), 60);
}

// A fifth of the late clusters are the server's own; the others its arrivals foretell.
TEST(BlockCounts, WhatWasExpectedIsNotLeftToChance) {
  Random random(3);
  double plain = 0, controlled = 0, effect = 0;
  constexpr int kRuns = 200, kClusters = 500;
  for (int run = 0; run < kRuns; ++run) {
    BlockCounts counts, alone;
    for (int i = 0; i < kClusters; ++i) {
      const bool expected = random.uniform() < 0.04;
      const bool late = (expected && random.uniform() < 0.8) || random.uniform() < 0.008;
      for (int j = 0; j < 30; ++j) {
        counts.add(late, expected);
        alone.add(late);
      }
    }
    constexpr double kTruth = 0.04 * 0.8 + 0.008 * (1 - 0.04 * 0.8);
    plain += std::pow(alone.share(0) - kTruth, 2) / kRuns;
    controlled += std::pow(counts.share(0.04) - kTruth, 2) / kRuns;
    effect += counts.design_effect(0.04) / alone.design_effect(0) / kRuns;
  }
  EXPECT_LT(controlled, 0.6 * plain);
  EXPECT_NEAR(effect, controlled / plain, 0.15);
}

TEST(BlockCounts, WhatWasWronglyExpectedChangesNothing) {
  Random random(4);
  BlockCounts counts, alone;
  for (int i = 0; i < 20000; ++i) {
    const bool expected = random.uniform() < 0.1, late = random.uniform() < 0.02;
    for (int j = 0; j < 30; ++j) {
      counts.add(late, expected);
      alone.add(late);
    }
  }
  EXPECT_NEAR(counts.share(0.03), alone.share(0), 0.001);
  EXPECT_NEAR(counts.design_effect(0.03), alone.design_effect(0), 2);
}

TEST(BlockCounts, TooFewEventsToJudge) {
  BlockCounts counts;
  for (int i = 0; i < 1000; ++i) counts.add(i < 9);
  EXPECT_EQ(counts.design_effect(0), 1);
}

}  // namespace
}  // namespace ocrtune
