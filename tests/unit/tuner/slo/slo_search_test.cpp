#include "tuner/slo/slo_search.h"

#include <cmath>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/synthetic/simulated_server.h"

namespace ocrtune {
namespace {

SimulatedService service_of(double mean_seconds, int servers, bool fixed, std::uint64_t seed = 1) {
  SimulatedService service;
  service.servers = servers;
  service.seed = seed;
  service.service_seconds = [=](Random& random, int) {
    return fixed ? mean_seconds : random.exponential(1 / mean_seconds);
  };
  return service;
}

Result<SloSearchResult> search(const SimulatedService& service, const SloSearchOptions& options) {
  SimulatedServer server(service);
  return find_highest_rate(server, server.clock(), options);
}

SloSearchOptions options_of(const LatencySlo& slo, double budget, std::uint64_t seed = 1) {
  SloSearchOptions options;
  options.slo = slo;
  options.budget_seconds = budget;
  options.seed = seed;
  return options;
}

// exp(-(1000 - rate) 0.02) = 0.01.
const double kTrueRate = 1000 - std::log(100) / 0.02;

TEST(FindHighestRate, ClaimsJustBelowTheTruthOfOneServer) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto found =
        search(service_of(0.001, 1, false, seed), options_of({0.99, 0.02}, 2000, seed * 101));
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(found->found);
    EXPECT_TRUE(found->confirmed);
    EXPECT_LE(found->requests_per_second, kTrueRate) << seed;
    EXPECT_GT(found->requests_per_second, 0.88 * kTrueRate) << seed;
    EXPECT_GT(found->broken_at, found->requests_per_second);
    EXPECT_NEAR(found->saturated_at, 1000, 100);
    EXPECT_THAT(found->words, testing::HasSubstr("p99 under 20 ms holds up to"));
  }
}

TEST(FindHighestRate, FindsTheCapacityOfManyServers) {
  const auto found = search(service_of(0.001, 8, true), options_of({0.95, 0.003}, 60));
  ASSERT_TRUE(found.ok());
  EXPECT_GT(found->requests_per_second, 0.94 * 7328);  // by simulation
  EXPECT_LE(found->requests_per_second, 7328);
}

TEST(FindHighestRate, SaysByHowMuchAnSloIsImpossible) {
  const auto found = search(service_of(0.08, 4, true), options_of({0.99, 0.05}, 60));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->found);
  EXPECT_EQ(found->stop_reason, "impossible");
  EXPECT_THAT(found->words, testing::HasSubstr("already takes 80 ms at p99, 30 ms too long"));
  EXPECT_TRUE(found->probes.empty());
}

TEST(FindHighestRate, AServiceAsLongAsTheSloIsHopeless) {
  const auto found = search(service_of(0.0499, 1, true), options_of({0.99, 0.05}, 3600));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->found);
  EXPECT_THAT(found->words, testing::HasSubstr("no rate worth serving keeps p99 under 50 ms"));
}

TEST(FindHighestRate, ASmallBudgetClaimsLessNotMore) {
  const auto found = search(service_of(0.001, 1, false), options_of({0.99, 0.02}, 20));
  ASSERT_TRUE(found.ok());
  EXPECT_LE(found->requests_per_second, kTrueRate);
  if (!found->found) {
    EXPECT_THAT(found->words, testing::HasSubstr("too short to prove"));
  }
}

TEST(FindHighestRate, ATrialOfASlowServiceTriesSeveralRates) {
  // As many requests as prove p90 take a minute here; the budget has three.
  SloSearchOptions options = search_of_a_trial();
  options.slo = {0.9, 4};
  options.budget_seconds = 180;
  const auto found = search(service_of(1.2, 2, true), options);
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(found->found);
  EXPECT_GE(found->probes.size(), 2U);
  EXPECT_GT(found->requests_per_second, 0.7 * 2 / 1.2);
  EXPECT_LT(found->requests_per_second, 2 / 1.2);
}

TEST(FindHighestRate, ASearchThatWasCutShortIsOpen) {
  SloSearchOptions options = search_of_a_trial();
  options.slo = {0.9, 4};
  options.budget_seconds = 100;
  const auto cut = search(service_of(1.2, 2, true), options);
  ASSERT_TRUE(cut.ok());
  ASSERT_TRUE(cut->found);
  EXPECT_TRUE(cut->open());
  EXPECT_TRUE(cut->open());
  options.budget_seconds = 3600;
  const auto whole = search(service_of(1.2, 2, true), options);
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE(whole->open());
  EXPECT_GT(whole->requests_per_second, 0.7 * 2 / 1.2);
  EXPECT_LT(whole->broken_at, 1.1 * whole->requests_per_second);
}

TEST(FindHighestRate, ABudgetThatProvesNothingSaysWhatToTry) {
  const auto found = search(service_of(0.001, 1, false), options_of({0.99, 0.02}, 1));
  ASSERT_TRUE(found.ok());
  ASSERT_FALSE(found->found);
  EXPECT_THAT(found->words, testing::AllOf(testing::HasSubstr("undecided: 1.0 s is too short"),
                                           testing::HasSubstr("p99 under 20 ms")));
  EXPECT_THAT(found->words, testing::HasSubstr("; try --budget 4s"));
}

TEST(FindHighestRate, ReportsWhyTheTargetFails) {
  SimulatedService service = service_of(0.001, 1, true);
  service.failed_share = 1;
  const auto found = search(service, options_of({0.99, 0.02}, 20));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::failed);
  EXPECT_THAT(found.error().what, testing::HasSubstr("refused by the script"));
}

// Where neither a run nor a queue with its arrivals was late, both had luck. Truth: a long
// simulation.
TEST(FindHighestRate, ALuckyRunProvesNoRate) {
  constexpr double kTruth = 719;
  for (const std::uint64_t seed : {1, 2, 3, 9}) {
    const auto found = search(service_of(0.001, 1, true, seed),
                              options_of({0.99, 0.008}, 600, (seed - 1) * 7919 + 1));
    ASSERT_TRUE(found.ok() && found->found);
    EXPECT_LE(found->requests_per_second, kTruth) << seed;
    EXPECT_GT(found->requests_per_second, 0.93 * kTruth) << seed;
  }
}

TEST(FindHighestRate, CountsFailuresAgainstTheSlo) {
  SimulatedService service = service_of(0.001, 4, true);
  service.failed_share = 0.03;  // p99 cannot hold at any rate
  const auto found = search(service, options_of({0.99, 0.02}, 200));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->found);
}

TEST(ProveRate, ProvesAtFullLengthAndLowersWhatFails) {
  for (const auto& [claim, least, most] : {std::tuple{0.8, 0.8, 1.0}, std::tuple{1.1, 0.5, 1.0}}) {
    SimulatedServer server(service_of(0.001, 1, false));
    const auto proved =
        prove_rate(server, server.clock(), options_of({0.99, 0.02}, 200), {claim * kTrueRate, {}});
    ASSERT_TRUE(proved.ok());
    ASSERT_TRUE(proved->found) << claim;
    EXPECT_GE(proved->requests_per_second, least * kTrueRate * 0.999);
    EXPECT_LE(proved->requests_per_second, most * kTrueRate * 1.001);
    EXPECT_GE(proved->probes.back().judged, 459);
    EXPECT_GE(proved->probes.back().seconds, 100 * 0.02);
  }
}

TEST(ProveRate, ClimbsFromTooLowUntilARateIsNotKept) {
  int near = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SimulatedService service = service_of(0.001, 1, false);
    service.seed = seed;
    SimulatedServer server(service);
    SloSearchOptions options = options_of({0.99, 0.02}, 1000);
    options.seed = seed;
    const auto proved = prove_rate(server, server.clock(), options, {0.75 * kTrueRate, {}});
    ASSERT_TRUE(proved.ok() && proved->found);
    EXPECT_LE(proved->requests_per_second, kTrueRate) << seed;
    EXPECT_LE(server.clock().now_seconds(), 1000 * 1.02);
    near += proved->requests_per_second >= 0.9 * kTrueRate ? 1 : 0;
  }
  EXPECT_GE(near, 9);
}

TEST(ProveRate, TooFastByFarIsNotClaimed) {
  SimulatedServer server(service_of(0.001, 1, false));
  const auto proved = prove_rate(server, server.clock(), options_of({0.99, 0.02}, 200), {3000, {}});
  ASSERT_TRUE(proved.ok());
  EXPECT_FALSE(proved->found);
  EXPECT_GT(proved->broken_at, 0);
}

TEST(FindHighestRate, BurstsOfATraceLowerTheRate) {
  SloSearchOptions options = options_of({0.99, 0.02}, 500);
  const auto smooth = search(service_of(0.001, 1, true), options);
  for (int burst = 0; burst < 200; ++burst) {
    for (int i = 0; i < 30; ++i) options.trace.push_back(burst + 0.001 * i);
  }
  const auto bursty = search(service_of(0.001, 1, true), options);
  ASSERT_TRUE(smooth.ok() && bursty.ok());
  EXPECT_TRUE(bursty->found);
  EXPECT_LT(bursty->requests_per_second, smooth->requests_per_second);
}

// A long limit hides a line that grows: in the time of a trial nothing is late yet.
TEST(FindHighestRate, NoRateAboveTheClosedMaximumIsKept) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const double limit : {0.5, 5.0}) {
      SloSearchOptions options = search_of_a_trial();
      options.slo = {0.95, limit};
      options.budget_seconds = 250 * limit;
      options.seed = seed;
      const auto found = search(service_of(0.1, 1, true, seed), options);
      ASSERT_TRUE(found.ok());
      ASSERT_TRUE(found->found);
      EXPECT_LE(found->requests_per_second, found->saturated_at);
      EXPECT_LE(found->requests_per_second, 10.01);
      for (const RateProbe& probe : found->probes) {
        EXPECT_LE(probe.requests_per_second, found->saturated_at);
        if (probe.verdict == SloVerdict::met) {
          EXPECT_GE(probe.seconds, 5 * limit);
        }
      }
    }
  }
}

TEST(FindHighestRate, ATargetThatSheds429IsNotAnError) {
  SimulatedService service = service_of(0.06, 6, true);
  service.max_in_flight = 6;
  const auto found = search(service, options_of({0.95, 0.5}, 200));
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->found);
  EXPECT_LT(found->requests_per_second, 100);
  EXPECT_GT(found->closed.refused_from, 6);
}

}  // namespace
}  // namespace ocrtune
