#include "extras/capacity/queueing.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/stats.h"
#include "trial/workloads/service/arrivals.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMany = 400000;

QueueRun run_poisson(const QueueModel& model, double rate, std::size_t count = kMany) {
  return simulate_queue(model, take_arrivals(Arrivals::poisson(rate, 3), count), 5);
}

// The probability of waiting in M/M/n. Source: Erlang 1917.
double erlang_c(int servers, double offered) {
  double term = 1;
  double sum = 1;
  for (int k = 1; k < servers; ++k) sum += term *= offered / k;
  const double last = term * offered / servers / (1 - offered / servers);
  return last / (sum + last);
}

TEST(SimulateQueue, OneServerExponentialMatchesTheClosedForm) {
  const QueueRun run = run_poisson({1, 1, 0, exponential_service(1)}, 0.7);
  EXPECT_NEAR(run.busy_share, 0.7, 0.01);
  EXPECT_NEAR(run.mean_wait_seconds, 0.7 / 0.3, 0.04 * 0.7 / 0.3);
  // Time in the system is exponential with rate mu - lambda.
  EXPECT_NEAR(latency_quantile(run, 0.5), std::log(2) / 0.3, 0.03 * std::log(2) / 0.3);
  EXPECT_NEAR(latency_quantile(run, 0.99), std::log(100) / 0.3, 0.05 * std::log(100) / 0.3);
}

TEST(SimulateQueue, ManyServersMatchErlangC) {
  for (const int servers : {2, 8}) {
    const double rate = 0.75 * servers;
    const QueueRun run = run_poisson({servers, 1, 0, exponential_service(1)}, rate);
    const double wait = erlang_c(servers, rate) / (servers - rate);
    EXPECT_NEAR(run.mean_wait_seconds, wait, 0.05 * wait) << servers;
  }
}

TEST(SimulateQueue, FixedServiceWaitsHalfAsLong) {
  const QueueRun run = run_poisson({1, 1, 0, fixed_service(1)}, 0.8);
  const double wait = 0.8 / (2 * 0.2);
  EXPECT_NEAR(run.mean_wait_seconds, wait, 0.04 * wait);
}

TEST(SimulateQueue, MeasuredTimesMatchPollaczekKhinchine) {
  const ServiceTimes times{{1, {0.5, 0.5, 0.5, 0.5, 3}}};
  const QueueRun run = run_poisson({1, 1, 0, measured_service(times)}, 0.6);
  const double second_moment = (4 * 0.25 + 9) / 5;
  const double wait = 0.6 * second_moment / (2 * (1 - 0.6));
  EXPECT_NEAR(run.mean_wait_seconds, wait, 0.05 * wait);
}

TEST(SimulateQueue, ByHandWithTwoServers) {
  const QueueRun run = simulate_queue({2, 1, 0, fixed_service(10)}, {0, 1, 2, 30}, 1);
  EXPECT_EQ(run.latency_seconds, (std::vector<double>{10, 10, 18, 10}));
}

// Alone half of what it takes among four; in between evenly more.
TEST(SimulateQueue, FewerInServiceTakeLess) {
  QueueModel model{4, 1, 0, fixed_service(12)};
  model.alone_share = 0.5;
  const QueueRun run = simulate_queue(model, {0, 0, 0, 0, 100}, 1);
  EXPECT_EQ(run.latency_seconds, (std::vector<double>{6, 8, 10, 12, 6}));
}

TEST(SimulateQueue, ABatchTakesAllThatWait) {
  const ServiceTimes times{{1, {5}}, {3, {7}}};
  const QueueRun run = simulate_queue({1, 3, 0, measured_service(times)}, {0, 1, 2, 3, 4}, 1);
  // Alone 0..5; then 1, 2, 3 together 5..12; then 4 alone 12..17.
  EXPECT_EQ(run.latency_seconds, (std::vector<double>{5, 11, 10, 9, 13}));
  EXPECT_DOUBLE_EQ(run.mean_batch, 5.0 / 3);
}

TEST(MeasuredService, TakesATimeBetweenThoseOfMeasuredBatches) {
  const ServiceDraw draw = measured_service({{2, {10, 20}}, {4, {20, 60}}});
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(draw(random, 1), testing::AnyOf(10, 20));  // as long as the smallest measured
    EXPECT_THAT(draw(random, 2), testing::AnyOf(10, 20));
    EXPECT_THAT(draw(random, 3), testing::AnyOf(15, 40));
    EXPECT_THAT(draw(random, 4), testing::AnyOf(20, 60));
  }
}

TEST(SimulateQueue, AMachineOfTwiceTheSpeedTakesHalfTheTime) {
  QueueModel model{1, 1, 0, fixed_service(4)};
  model.speed = 2;
  EXPECT_EQ(simulate_queue(model, {0, 1}, 1).latency_seconds, (std::vector<double>{2, 3}));
  EXPECT_NEAR(saturated_rate(model, 1), 0.5, 1e-9);
}

TEST(SimulateQueue, LingeringWaitsForCompanyButNotLonger) {
  const QueueModel model{1, 2, 3, fixed_service(1)};
  const QueueRun run = simulate_queue(model, {0, 2, 10, 20, 20.5}, 1);
  // 0 and 2 leave at 2; 10 gives up at 13; 20 leaves full at 20.5.
  EXPECT_EQ(run.latency_seconds, (std::vector<double>{3, 1, 4, 1.5, 1}));
}

TEST(SimulateQueue, SameSeedSameRun) {
  const QueueModel model{3, 1, 0, exponential_service(1)};
  EXPECT_EQ(run_poisson(model, 2, 1000).latency_seconds,
            run_poisson(model, 2, 1000).latency_seconds);
}

TEST(SimulateQueue, NoArrivalsNoLatency) {
  const QueueRun run = simulate_queue({1, 1, 0, fixed_service(1)}, {}, 1);
  EXPECT_TRUE(run.latency_seconds.empty());
  EXPECT_EQ(latency_quantile(run, 0.99), 0);
}

TEST(HighestRate, FindsTheKnownCapacityOfOneServer) {
  // exp(-(mu - lambda) 20) = 0.01 at mu - lambda = log(100) / 20.
  const double rate = highest_rate({1, 1, 0, exponential_service(1)}, {0.99, 20}, 9, 400000);
  EXPECT_NEAR(rate, 1 - std::log(100) / 20, 0.01);
}

TEST(HighestRate, IsZeroWhenServiceAloneIsTooSlow) {
  EXPECT_EQ(highest_rate({4, 1, 0, fixed_service(1)}, {0.99, 0.9}, 9, 10000), 0);
}

TEST(SaturatedRate, CountsServersAndBatches) {
  EXPECT_NEAR(saturated_rate({4, 1, 0, fixed_service(0.5)}, 1), 8, 1e-9);
  EXPECT_NEAR(saturated_rate({2, 8, 0, measured_service({{8, {12}}})}, 1), 2 * 8 / 12.0, 1e-9);
}

}  // namespace
}  // namespace ocrtune
