#include "trial/workloads/service/closed_maximum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/synthetic/simulated_server.h"
#include "trial/workloads/service/settling.h"

namespace ocrtune {
namespace {

SimulatedService fixed_service(double seconds, int servers) {
  SimulatedService service;
  service.servers = servers;
  service.service_seconds = [seconds](Random&, int) { return seconds; };
  return service;
}

Result<ClosedMaximum> maximum_of(const SimulatedService& service,
                                 ClosedMaximumOptions options = {}) {
  SimulatedServer server(service);
  return find_closed_maximum(server, server.clock(), options);
}

TEST(RunClosed, CountsWholeRounds) {
  SimulatedServer server(fixed_service(1, 8));
  ClosedPlan plan;
  plan.in_flight = 8;
  plan.min_seconds = 2.5;  // a batch of eight a second: two and a half rounds would count 16 or 24
  const ClosedResult result = run_closed(server, server.clock(), plan);
  EXPECT_NEAR(result.requests_per_second, 8, 0.1);
  EXPECT_EQ(result.unanswered, 0);
}

TEST(RunClosed, ConnectingIsNoPartOfTheRate) {
  SimulatedService service = fixed_service(0.01, 16);
  service.connect_seconds = 1;  // a SYN that is sent again
  SimulatedServer server(service);
  ClosedPlan plan;
  plan.in_flight = 16;
  plan.min_seconds = 0.3;
  const ClosedResult result = run_closed(server, server.clock(), plan);
  EXPECT_NEAR(result.requests_per_second, 1600, 20);
  EXPECT_LT(result.latency.max_seconds(), 0.02);
}

TEST(RunClosed, ASlowServerIsCountedFromItsFirstRound) {
  SimulatedServer server(fixed_service(35, 2));
  ClosedPlan plan;
  plan.in_flight = 2;
  plan.min_seconds = 0.3;
  plan.max_seconds = 200;
  const ClosedResult result = run_closed(server, server.clock(), plan);
  EXPECT_NEAR(result.requests_per_second, 2.0 / 35, 0.002);
  EXPECT_LT(server.clock().now_seconds(), 75) << "one round, and its rest";
}

TEST(RunClosed, ATargetThatHasEndedIsAskedNoMore) {
  SimulatedService service = fixed_service(0.1, 8);
  service.ends_at = 4;
  SimulatedServer server(service);
  ClosedPlan plan;
  plan.in_flight = 8;
  plan.min_seconds = plan.max_seconds = 60;
  const ClosedResult result = run_closed(server, server.clock(), plan);
  EXPECT_LT(result.issued, 20);
  EXPECT_LT(server.clock().now_seconds(), 2);
}

TEST(ClosedMaximum, WhatARequestTakesAloneRestsOnSeveral) {
  for (const double seconds : {0.01, 0.4, 2.0, 30.0}) {
    const auto found = maximum_of(fixed_service(seconds, 2));
    ASSERT_TRUE(found.ok());
    EXPECT_NEAR(found->alone.latency.quantile(0.5), seconds, 0.02 * seconds);
    EXPECT_GE(found->alone.latency.count(), seconds < 1 ? 5 : seconds < 3 ? 3 : 1) << seconds;
    EXPECT_NEAR(found->requests_per_second, 2 / seconds, 0.2 / seconds);
  }
}

TEST(ClosedMaximum, OneStalledConnectionIsNoLimit) {
  for (const int servers : {1, 3, 16, 100}) {
    SimulatedService service = fixed_service(0.01, servers);
    service.connect_seconds = 1;
    const auto found = maximum_of(service);
    ASSERT_TRUE(found.ok());
    EXPECT_NEAR(found->requests_per_second, 100 * servers, 10 * servers) << servers;
    EXPECT_FALSE(found->open);
    EXPECT_EQ(found->refused_from, 0);
    EXPECT_EQ(found->fixed_wait_seconds, 0);
  }
}

TEST(ClosedMaximum, WhereRequestsAreTurnedAwayIsTheLimit) {
  for (const int slots : {2, 6, 50}) {
    SimulatedService service = fixed_service(0.06, slots);
    service.max_in_flight = slots;
    const auto found = maximum_of(service);
    ASSERT_TRUE(found.ok());
    EXPECT_GE(found->requests_per_second, 0.9 * slots / 0.06);
    EXPECT_LE(found->in_flight, slots);
    EXPECT_FALSE(found->open);
    EXPECT_GT(found->refused_from, slots);
    EXPECT_LE(found->refused_from, 1.1 * slots + 1);
  }
}

TEST(ClosedMaximum, ALimitOfTheRateIsFoundWithOneInFlight) {
  SimulatedService service = fixed_service(0.02, 8);
  service.max_rate = 40;
  const auto found = maximum_of(service);
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_EQ(found->refused_from, 1);
  EXPECT_EQ(found->in_flight, 1);
  EXPECT_NEAR(found->requests_per_second, 40, 4);
  EXPECT_LT(found->steps[0].refused, 5 * found->steps[0].answered) << "nobody is flooded";
}

// A thread that serves one connection until it is closed: the second one has no answer.
TEST(ClosedMaximum, AStepWaitsNoLongerThanTheSearchHas) {
  SimulatedServer server(fixed_service(0.04, 1));
  class KeepsOthersOut : public LoadTarget {
   public:
    explicit KeepsOthersOut(LoadTarget& inner) : inner_(&inner) {}
    void start(std::uint64_t request, int kind) override {
      if (busy_) return;  // for ever
      busy_ = true;
      inner_->start(request, kind);
    }
    void collect(double until_seconds, std::vector<Completion>& finished) override {
      const std::size_t before = finished.size();
      inner_->collect(until_seconds, finished);
      if (finished.size() > before) busy_ = false;
    }

   private:
    LoadTarget* inner_;
    bool busy_ = false;
  };
  KeepsOthersOut target(server);
  ClosedMaximumOptions options;
  options.max_seconds = 10;
  const auto found = find_closed_maximum(target, server.clock(), options);
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_EQ(found->in_flight, 1);
  EXPECT_NEAR(found->requests_per_second, 25, 2);
  EXPECT_LE(server.clock().now_seconds(), 12);
}

TEST(ClosedMaximum, AFixedWaitIsCalledSo) {
  SimulatedService service = fixed_service(0.02, 2);
  service.wait_seconds = 2;
  ClosedMaximumOptions options;
  options.seconds = 100;
  const auto found = maximum_of(service, options);
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->fixed_wait_seconds, 2, 0.05);
  EXPECT_NEAR(found->requests_per_second, 100, 10);
}

// In the time of a usual trial: what a round takes is no guess that nothing scales.
TEST(ClosedMaximum, AFixedWaitIsClimbedInTheTimeOfATrial) {
  SimulatedService service = fixed_service(0.02, 2);
  service.wait_seconds = 2;
  ClosedMaximumOptions options;
  options.seconds = 12;
  options.rising_seconds = 15;
  SimulatedServer server(service);
  const auto found = find_closed_maximum(server, server.clock(), options);
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->requests_per_second, 100, 10);
  EXPECT_FALSE(found->open);
  EXPECT_LT(server.clock().now_seconds(), 70);
}

// A queue is not climbed for longer than before.
// A trial that the budget cuts short keeps time to measure what the climb found.
TEST(ClosedMaximum, AClimbEndsInTheTimeThatATrialHas) {
  SimulatedService service = fixed_service(0.02, 512);
  service.wait_seconds = 2;
  SimulatedServer server(service);
  ClosedMaximumOptions options;
  options.rising_seconds = 15;
  options.max_seconds = 30;
  const auto found = find_closed_maximum(server, server.clock(), options);
  ASSERT_TRUE(found.ok());
  EXPECT_LT(server.clock().now_seconds(), 35);
  EXPECT_TRUE(found->open);
  EXPECT_NEAR(found->fixed_wait_seconds, 2, 0.1);
}

TEST(ClosedMaximum, ASlowQueueIsLeftSoon) {
  ClosedMaximumOptions options;
  options.seconds = 12;
  options.rising_seconds = 15;
  SimulatedServer server(fixed_service(2, 2));
  const auto found = find_closed_maximum(server, server.clock(), options);
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->requests_per_second, 1, 0.1);
  EXPECT_LT(server.clock().now_seconds(), 60);
}

TEST(ClosedMaximum, ATargetThatEndsIsStartedAnewWithFewer) {
  SimulatedService service = fixed_service(0.2, 1000);
  service.ends_at = 50;
  SimulatedServer server(service);
  int restarts = 0;
  ClosedMaximumOptions options;
  options.restart = [&]() -> Result<LoadTarget*> {
    ++restarts;
    server.restart();
    return &server;
  };
  const auto found = find_closed_maximum(server, server.clock(), options);
  ASSERT_TRUE(found.ok());
  EXPECT_GE(found->requests_per_second, 0.9 * 49 / 0.2);
  EXPECT_LE(found->in_flight, 49);
  EXPECT_GE(found->ended_from, 50);
  EXPECT_GT(restarts, 0);
  EXPECT_EQ(found->unanswered, 0);
}

// Its connections break before its process is seen gone: refused ones are not capacity then.
TEST(ClosedMaximum, AnEndThatIsSeenLateIsAnEnd) {
  SimulatedService service = fixed_service(0.2, 1000);
  service.ends_at = 50;
  service.end_unseen_seconds = 0.4;
  SimulatedServer server(service);
  ClosedMaximumOptions options;
  options.restart = [&]() -> Result<LoadTarget*> {
    server.restart();
    return &server;
  };
  const auto found = find_closed_maximum(server, server.clock(), options);
  ASSERT_TRUE(found.ok());
  EXPECT_GE(found->requests_per_second, 0.9 * 49 / 0.2);
  EXPECT_EQ(found->refused_from, 0);
  EXPECT_EQ(found->failed_from, 0);
  EXPECT_GE(found->ended_from, 50);
  EXPECT_EQ(found->target->ended(), "");
}

// A short trial that stops at 8 would find a server of 16 at once as good as one of 256.
TEST(ClosedMaximum, WhatStillRisesIsSeenToItsEnd) {
  for (const int servers : {16, 100}) {
    ClosedMaximumOptions options;
    options.seconds = 2;
    options.rising_seconds = 15;
    SimulatedServer server(fixed_service(0.1, servers));
    const auto found = find_closed_maximum(server, server.clock(), options);
    ASSERT_TRUE(found.ok());
    EXPECT_NEAR(found->requests_per_second, 10 * servers, 0.5 * servers);
    EXPECT_FALSE(found->open);
    EXPECT_LT(server.clock().now_seconds(), 20);
  }
}

TEST(ClosedMaximum, ItNeverHasMoreInFlightThanAllowed) {
  SimulatedService service = fixed_service(0.01, 64);
  service.max_in_flight = 10;
  ClosedMaximumOptions options;
  options.max_in_flight = 10;
  const auto found = maximum_of(service, options);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->refused_from, 0);
  EXPECT_EQ(found->in_flight, 10);
  EXPECT_NEAR(found->requests_per_second, 1000, 50);
}

TEST(WaitUntilEmpty, WaitsForWhatWasGivenUp) {
  SimulatedServer server(fixed_service(1, 1));
  for (std::uint64_t request = 0; request < 20; ++request) server.start(request, 0);
  // Five of these will never be answered; the server works at twenty.
  const Settled settled = wait_until_empty(server, server.clock(), 25, 1, 100, 1000);
  EXPECT_TRUE(settled.empty);
  EXPECT_GT(settled.seconds, 19);
  const Settled never = [&] {
    for (std::uint64_t request = 2000; request < 2100; ++request) server.start(request, 0);
    return wait_until_empty(server, server.clock(), 0, 1, 20, 3000);
  }();
  EXPECT_FALSE(never.empty);
}

}  // namespace
}  // namespace ocrtune
