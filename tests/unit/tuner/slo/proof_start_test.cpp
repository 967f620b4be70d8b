#include "tuner/slo/proof_start.h"

#include <gtest/gtest.h>

#include "bench/synthetic/simulated_server.h"
#include "tuner/slo/slo_search.h"

namespace ocrtune {
namespace {

// A server that waits, or sheds, and the highest rate with p95 under 400 ms, by long simulations.
struct KnownServer {
  int slots;
  double seconds;
  bool sheds;
  double truth;
};

constexpr KnownServer kServers[] = {{1, 0.05, false, 16.04},
                                    {2, 0.08, false, 20.72},
                                    {8, 0.05, false, 155.9},
                                    {6, 0.06, true, 49.0}};
const LatencySlo kSlo{0.95, 0.4};

SimulatedService service_of(const KnownServer& known, std::uint64_t seed) {
  SimulatedService service;
  service.servers = known.slots;
  service.max_in_flight = known.sheds ? known.slots : 0;
  service.service_seconds = [=](Random&, int) { return known.seconds; };
  service.seed = seed;
  return service;
}

// One trial of a search, as a run keeps it.
std::vector<LoadPoint> loads_of(const SloSearchResult& found) {
  std::vector<LoadPoint> loads;
  for (const ClosedStep& step : found.closed.steps) {
    loads.push_back({step.in_flight, step.requests_per_second, step.p50_seconds, 0, 0, 0,
                     step.answered, step.failed + step.refused, ""});
  }
  for (const RateProbe& probe : found.probes) {
    const bool broken = probe.verdict == SloVerdict::violated;
    loads.push_back({0, probe.requests_per_second, 0, 0, 0, probe.latency_seconds, probe.judged,
                     probe.over, broken ? "broken" : "kept"});
  }
  return loads;
}

TEST(QueueRate, KnowsServersThatWaitAndThatShed) {
  for (const KnownServer& one : kServers) {
    EXPECT_NEAR(queue_rate(kSlo, {one.slots, one.seconds, 0, one.sheds}), one.truth,
                0.05 * one.truth);
  }
  EXPECT_LT(queue_rate({0.95, 0.03}, {1, 0.05}), 0.1) << "longer than the limit alone";
}

TEST(ProofStart, LiesBelowWhatWasSeenToBreak) {
  const std::vector<LoadPoint> loads = {{0, 20, 0, 0, 0, 0, 100, 20, "broken"},
                                        {0, 12, 0, 0, 0, 0, 100, 20, "broken"},
                                        {0, 15, 0, 0, 0, 0, 100, 0, "kept"}};
  const double start = proof_start({loads, loads}, kSlo, 15, true).requests_per_second;
  EXPECT_LT(start, 12);
  EXPECT_GT(start, 10);
  EXPECT_LT(proof_start({}, kSlo, 15, true).requests_per_second, 15);
}

TEST(ServerQueue, WhatItDoesAtMostIsOfAllItsSaturatedSteps) {
  const std::vector<LoadPoint> loads = {{1, 11, 0.09, 0.09, 0.09, 0, 100, 0, ""},
                                        {2, 19, 0.10, 0.10, 0.10, 0, 100, 0, ""},
                                        {4, 22, 0.18, 0.18, 0.18, 0, 100, 0, ""},  // by luck
                                        {8, 19, 0.40, 0.40, 0.40, 0, 100, 0, ""}};
  const ServerQueue queue = server_queue(loads);
  EXPECT_EQ(queue.slots, 2);
  EXPECT_NEAR(queue.slots / queue.service_seconds, 20, 0.2);
}

// One that turns away what comes faster than a limit looks as if it shed all but one request.
TEST(ProofStart, AQueueThatIsUnlikeTheServerIsNotAsked) {
  const std::vector<LoadPoint> loads = {{1, 48, 0.02, 0.02, 0.02, 0, 100, 0, ""},
                                        {2, 40, 0.02, 0.02, 0.02, 0, 100, 50, ""},
                                        {0, 36, 0, 0, 0, 0, 100, 0, "kept"}};
  EXPECT_LT(queue_rate(kSlo, server_queue(loads)), 10);
  const RateToProve start = proof_start({loads}, kSlo, 36, true);
  EXPECT_GT(start.requests_per_second, 0.9 * 36);
  EXPECT_LT(start.requests_per_second, 36);
}

// A search of 38 s and the proof of what it found, as a tune with a budget of minutes does it. The
// search alone is above the truth in half of the runs.
TEST(ProofStart, WhatIsProvedIsJustBelowTheTruth) {
  int near = 0, runs = 0;
  for (const KnownServer& known : kServers) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SimulatedServer server(service_of(known, seed));
      SloSearchOptions options = search_of_a_trial();
      options.slo = kSlo;
      options.budget_seconds = 38;
      options.seed = seed;
      const auto found = find_highest_rate(server, server.clock(), options);
      ASSERT_TRUE(found.ok());
      SloSearchOptions full;
      full.slo = kSlo;
      full.budget_seconds = 170;
      full.seed = seed;
      const RateToProve start =
          proof_start({loads_of(*found)}, kSlo, found->requests_per_second, true);
      const auto proved = prove_rate(server, server.clock(), full, start);
      ASSERT_TRUE(proved.ok());
      EXPECT_LE(proved->requests_per_second, known.truth) << known.slots << " seed " << seed;
      near += proved->requests_per_second > 0.85 * known.truth ? 1 : 0;
      ++runs;
    }
  }
  EXPECT_GE(near, 0.8 * runs);
}

}  // namespace
}  // namespace ocrtune
