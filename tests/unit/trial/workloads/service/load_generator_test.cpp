#include "trial/workloads/service/load_generator.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/stats.h"
#include "bench/synthetic/simulated_server.h"

namespace ocrtune {
namespace {

SimulatedService fixed(double seconds, int servers = 1) {
  SimulatedService service;
  service.servers = servers;
  service.service_seconds = [seconds](Random&, int) { return seconds; };
  return service;
}

SimulatedService exponential(double mean, int servers = 1) {
  SimulatedService service;
  service.servers = servers;
  service.service_seconds = [mean](Random& random, int) { return random.exponential(1 / mean); };
  return service;
}

LoadResult run(const SimulatedService& service, Arrivals arrivals, const LoadPlan& plan) {
  SimulatedServer server(service);
  return run_load(server, server.clock(), std::move(arrivals), plan);
}

// What every client saw, from the arrivals and the server's own arithmetic (one process).
std::vector<double> true_latencies(const SimulatedService& service, Arrivals arrivals,
                                   std::int64_t count) {
  const SimulatedServer server(service);
  Random random(mix_bits(~service.seed));  // the stream of the server
  std::vector<double> latencies;
  double free_at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = arrivals.next();
    free_at = server.finish_of(std::max(at, free_at), service.service_seconds(random, 0));
    latencies.push_back(free_at - at);
  }
  return latencies;
}

double exact_quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::ceil(p * static_cast<double>(values.size()))) - 1];
}

void expect_true_latencies(const SimulatedService& service, double rate) {
  LoadPlan plan;
  plan.max_seconds = 30;
  const LoadResult result = run(service, Arrivals::poisson(rate, 11), plan);
  const auto truth = true_latencies(service, Arrivals::poisson(rate, 11), result.issued);
  ASSERT_EQ(result.unanswered, 0);
  ASSERT_EQ(result.latency.count(), result.issued);
  for (const double p : {0.5, 0.9, 0.99, 0.999}) {
    const double exact = exact_quantile(truth, p);
    EXPECT_NEAR(result.latency.quantile(p), exact, (p > 0.6 ? 0.03 : 0.01) * exact) << p;
  }
  EXPECT_NEAR(result.latency.max_seconds(), exact_quantile(truth, 1), 1e-9);
}

TEST(RunLoad, MeasuresAFixedServerTruly) { expect_true_latencies(fixed(0.0007), 1000); }

TEST(RunLoad, MeasuresAnExponentialServerTruly) {
  expect_true_latencies(exponential(0.0007), 1000);
}

TEST(RunLoad, AGeneratorThatCannotKeepUpEndsInTime) {
  SimulatedService service = fixed(0.01);
  service.blocks_caller = true;  // 100 requests a second at most
  LoadPlan plan;
  plan.max_seconds = 5;
  plan.slo = LatencySlo{0.99, 0.1};
  plan.stop_when_decided = false;
  SimulatedServer server(service);
  const LoadResult result = run_load(server, server.clock(), Arrivals::poisson(300, 3), plan);
  EXPECT_LT(server.clock().now_seconds(), 6.5);
  EXPECT_LT(result.issued, 650);
  EXPECT_EQ(result.unanswered, 0);
  EXPECT_NEAR(static_cast<double>(result.judged), 1500, 150) << "what was not sent counts";
  EXPECT_EQ(result.verdict, SloVerdict::violated);
}

TEST(RunLoad, AStallMakesEveryDelayedRequestLate) {
  SimulatedService service = fixed(0.0005);
  service.stall_at_seconds = 10;
  service.stall_seconds = 0.2;
  expect_true_latencies(service, 1000);
}

// A client that waits for each answer is itself stalled and asks less in that time. From the
// intended starts the 200 requests of the stall and those of the recovery are late all the same.
TEST(RunLoad, AStallOfABlockingTargetIsNotOmitted) {
  SimulatedService service = fixed(0.0005);
  service.stall_at_seconds = 10;
  service.stall_seconds = 0.2;
  service.blocks_caller = true;
  expect_true_latencies(service, 1000);

  LoadPlan plan;
  plan.max_seconds = 30;
  plan.slo = LatencySlo{0.999, 0.05};
  plan.stop_when_decided = false;
  const LoadResult result = run(service, Arrivals::poisson(1000, 11), plan);
  EXPECT_GT(result.over, 200);
  EXPECT_LT(result.over, 600);
  EXPECT_GT(result.design_effect, 20);  // one stall, not hundreds of independent accidents
}

TEST(RunLoad, MeetsAnSloAfterFewRequests) {
  LoadPlan plan;
  plan.slo = LatencySlo{0.99, 0.01};
  const LoadResult result = run(fixed(0.001, 4), Arrivals::poisson(500, 3), plan);
  EXPECT_EQ(result.stop, LoadStop::decided);
  EXPECT_EQ(result.verdict, SloVerdict::met);
  EXPECT_GE(result.judged, 508);  // 459 at one look; more looks may follow this one
  EXPECT_LT(result.judged, 2 * 459);
  EXPECT_EQ(result.over, 0);
}

// One request in a hundred is late, no less: a verdict of "kept" at 99 % is wrong, and may come in
// one run of a hundred, however often the run looks.
TEST(RunLoad, LookingOftenDoesNotMeetAnSlo) {
  constexpr int kRuns = 500;
  int kept = 0;
  for (int i = 0; i < kRuns; ++i) {
    SimulatedService service;
    service.servers = 64;
    service.seed = static_cast<std::uint64_t>(i) + 1;
    service.service_seconds = [](Random& random, int) {
      return random.uniform() < 0.01 ? 0.02 : 0.001;
    };
    LoadPlan plan;
    plan.slo = LatencySlo{0.99, 0.01};
    plan.max_requests = 6000;
    const auto seed = static_cast<std::uint64_t>(i) + 1000;
    const LoadResult result = run(service, Arrivals::poisson(500, seed), plan);
    kept += result.verdict == SloVerdict::met ? 1 : 0;
  }
  EXPECT_LE(kept, 0.02 * kRuns);
}

// Requests until p95 under 400 ms is proved at this rate, over some seeds.
std::int64_t requests_to_prove(const SimulatedService& service, double rate,
                               const ServerQueue& queue) {
  const LatencySlo slo{0.95, 0.4};
  const QueuedShare late =
      queue.slots > 0 ? queued_share(queue, slo, rate, 1000000) : QueuedShare();
  std::int64_t judged = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    LoadPlan plan;
    plan.slo = slo;
    plan.warm_up_seconds = 8;
    plan.max_seconds = 5000;
    plan.assumed_design_effect = rate * slo.seconds;
    plan.queue = queue;
    plan.queued = late;
    SimulatedService one = service;
    one.seed = seed;
    const LoadResult result = run(one, Arrivals::poisson(rate, seed + 100), plan);
    EXPECT_EQ(result.verdict, SloVerdict::met);
    judged += result.judged;
  }
  return judged;
}

// Nearly all luck of a server with a fixed service lies in its arrivals.
TEST(RunLoad, AQueueLikeTheServerProvesSooner) {
  const auto times = [](double seconds, int slots, double rate) {
    const SimulatedService service = fixed(seconds, slots);
    const auto alone = static_cast<double>(requests_to_prove(service, rate, {}));
    const ServerQueue alike{slots, 1.01 * seconds};
    return static_cast<double>(requests_to_prove(service, rate, alike)) / alone;
  };
  EXPECT_LT(times(0.05, 1, 14.7), 0.5);
  EXPECT_LT(times(0.25, 4, 9), 0.6) << "a service that is longer than half of the limit";
}

// How many of 100 runs keep p95 under 400 ms at a rate at which exactly 5 % are late.
int kept_at_the_edge(const ServerQueue& queue) {
  const double rate = 50 - std::log(20.0) / 0.4;  // of one server with exponential services
  int kept = 0;
  LoadPlan plan;
  plan.slo = LatencySlo{0.95, 0.4};
  plan.warm_up_seconds = plan.min_seconds = 8;
  plan.max_seconds = 100;
  plan.assumed_design_effect = rate * plan.slo->seconds;
  plan.queue = queue;
  if (queue.slots > 0) plan.queued = queued_share(queue, *plan.slo, rate, 1000000);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimulatedService service = exponential(0.02);
    service.seed = seed;
    const LoadResult result = run(service, Arrivals::poisson(rate, seed + 1000), plan);
    kept += result.verdict == SloVerdict::met ? 1 : 0;
  }
  return kept;
}

// Requests that wait for each other for long count for less than a short run shows: a queue that
// has as many slots knows that, and one that is too fast makes nothing worse.
TEST(RunLoad, AQueueUnlikeTheServerKeepsNoBrokenRate) {
  const int alone = kept_at_the_edge({});
  EXPECT_LE(kept_at_the_edge({1, 0.02}), 2);
  EXPECT_LE(kept_at_the_edge({2, 0.04}), 2);
  EXPECT_NEAR(kept_at_the_edge({1, 0.0186}), alone, 2);
}

TEST(RunLoad, ViolatesAnSloThatServiceAloneViolates) {
  LoadPlan plan;
  plan.slo = LatencySlo{0.99, 0.01};
  const LoadResult result = run(fixed(0.02, 40), Arrivals::poisson(500, 3), plan);
  EXPECT_EQ(result.verdict, SloVerdict::violated);
  EXPECT_EQ(result.over, result.judged);
}

TEST(RunLoad, TooFewRequestsDecideNothing) {
  LoadPlan plan;
  plan.slo = LatencySlo{0.99, 0.01};
  plan.max_requests = 400;
  const LoadResult result = run(fixed(0.001, 4), Arrivals::poisson(500, 3), plan);
  EXPECT_EQ(result.stop, LoadStop::requests);
  EXPECT_EQ(result.issued, 400);
  EXPECT_EQ(result.verdict, SloVerdict::undecided);
}

TEST(RunLoad, CutsOffAnOverloadedServer) {
  LoadPlan plan;
  plan.max_seconds = 1000;
  const LoadResult result = run(exponential(0.001), Arrivals::poisson(1200, 3), plan);
  EXPECT_EQ(result.stop, LoadStop::saturated);
  EXPECT_LT(result.issued, 60000);  // not 1,200,000
  EXPECT_NEAR(result.completed_rate, 1000, 80);
}

TEST(RunLoad, DoesNotCutOffABusyServerThatKeepsUp) {
  LoadPlan plan;
  plan.max_seconds = 60;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const LoadResult result = run(exponential(0.001), Arrivals::poisson(900, seed), plan);
    EXPECT_EQ(result.stop, LoadStop::seconds) << seed;
  }
}

TEST(RunLoad, AStallIsNoSaturation) {
  SimulatedService service = fixed(0.0002);
  service.stall_at_seconds = 1.9;
  service.stall_seconds = 0.2;
  LoadPlan plan;
  plan.max_seconds = 6;
  EXPECT_EQ(run(service, Arrivals::poisson(2000, 3), plan).stop, LoadStop::seconds);
}

TEST(RunLoad, WarmUpIsSentButNotCounted) {
  LoadPlan plan;
  plan.warm_up_seconds = 5;
  plan.max_seconds = 10;
  plan.slo = LatencySlo{0.99, 0.01};
  plan.stop_when_decided = false;
  const LoadResult result = run(fixed(0.0001), Arrivals::poisson(1000, 3), plan);
  EXPECT_NEAR(static_cast<double>(result.issued), 10000, 400);
  EXPECT_NEAR(static_cast<double>(result.judged), 5000, 300);
  EXPECT_EQ(result.latency.count(), result.judged);
}

TEST(RunLoad, FailuresViolateTheSloAndAreNoLatency) {
  SimulatedService service = fixed(0.0001);
  service.failed_share = 0.05;
  LoadPlan plan;
  plan.slo = LatencySlo{0.99, 0.01};
  plan.max_seconds = 10;
  plan.stop_when_decided = false;
  const LoadResult result = run(service, Arrivals::poisson(1000, 3), plan);
  EXPECT_EQ(result.verdict, SloVerdict::violated);
  EXPECT_EQ(result.over, result.failed);
  EXPECT_EQ(result.latency.count(), result.completed - result.failed);
  EXPECT_EQ(result.failure, "refused by the script");
}

TEST(RunLoad, GivesUpATargetThatAnswersNothingRight) {
  SimulatedService service = fixed(0.0001);
  service.failed_share = 1;
  const LoadResult result = run(service, Arrivals::poisson(1000, 3), {});
  EXPECT_EQ(result.stop, LoadStop::target_failed);
  EXPECT_LT(result.issued, 1000);
}

TEST(RunLoad, KindsAreDrawnByWeightAndKeptApart) {
  SimulatedService service;
  service.servers = 16;
  service.service_seconds = [](Random&, int kind) { return kind == 0 ? 0.001 : 0.004; };
  LoadPlan plan;
  plan.max_seconds = 20;
  plan.kind_weights = {3, 1};
  const LoadResult result = run(service, Arrivals::poisson(500, 3), plan);
  ASSERT_EQ(result.kinds.size(), 2u);
  EXPECT_NEAR(static_cast<double>(result.kinds[0].count()) / static_cast<double>(result.issued),
              0.75, 0.03);
  EXPECT_NEAR(result.kinds[0].quantile(0.9), 0.001, 1e-5);
  EXPECT_NEAR(result.kinds[1].quantile(0.5), 0.004, 4e-5);
}

TEST(RunLoad, PlaysARecordedTrace) {
  LoadPlan plan;
  plan.max_requests = 6;
  const LoadResult result = run(fixed(0.5), Arrivals::trace({0, 0.1, 0.2, 10, 10.1, 10.2}), plan);
  EXPECT_EQ(result.latency.count(), 6);
  EXPECT_NEAR(result.latency.quantile(0.3), 0.5, 0.003);
  EXPECT_NEAR(result.latency.max_seconds(), 1.3, 1e-9);
}

}  // namespace
}  // namespace ocrtune
