#include "extras/capacity/fleet_queue.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "trial/workloads/service/arrivals.h"

namespace ocrtune {
namespace {

FleetDemand poisson(double rate, std::size_t count, Balancer balancer) {
  return {take_arrivals(Arrivals::poisson(rate, 3), count), {}, balancer};
}

// A machine that gets a random share is M/M/1: exp(-(mu - lambda) t) are later than t.
TEST(FleetLatency, ARandomShareOfPoissonIsPoisson) {
  const QueueModel one{1, 1, 0, exponential_service(1)};
  const double p99 = fleet_latency(one, poisson(7, 2000000, Balancer::random), 10, 0.99, 1);
  EXPECT_NEAR(p99, std::log(100) / 0.3, 0.1 * std::log(100) / 0.3);
}

TEST(FleetLatency, TurnsWaitLess) {
  const QueueModel one{1, 1, 0, exponential_service(1)};
  const double random = fleet_latency(one, poisson(7, 400000, Balancer::random), 10, 0.99, 1);
  const double turns = fleet_latency(one, poisson(7, 400000, Balancer::turns), 10, 0.99, 1);
  EXPECT_LT(turns, 0.8 * random);
}

// Of machines that differ each has the same share: the slow ones miss the target first.
TEST(FleetLatency, MachinesThatDifferWaitLonger) {
  const QueueModel one{1, 1, 0, exponential_service(1)};
  for (const int machines : {10, 60}) {  // all of them simulated, and some
    FleetDemand demand = poisson(0.85 * machines, 400000, Balancer::random);
    double alike = 0, different = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {  // of the machines' speeds
      demand.machine_spread = 0;
      alike += fleet_latency(one, demand, machines, 0.99, seed);
      demand.machine_spread = 0.07;
      different += fleet_latency(one, demand, machines, 0.99, seed);
    }
    EXPECT_GT(different, 1.1 * alike) << machines;
  }
}

TEST(FewestMachines, FindsTheKnownCountFromAnyGuess) {
  // One after the other and a service of exactly 1 s: n machines keep up with a request each 1/n s.
  const QueueModel one{1, 1, 0, fixed_service(1)};
  FleetDemand even;
  even.balancer = Balancer::turns;
  for (int i = 0; i < 20000; ++i) even.arrivals.push_back(i / 12.0);
  for (const int guess : {1, 5, 11, 12, 13, 40, 100}) {
    EXPECT_EQ(fewest_machines(one, even, {0.99, 1.001}, guess, 100, 1), 12) << guess;
  }
  EXPECT_EQ(fewest_machines(one, even, {0.99, 1.001}, 3, 11, 1), 12);  // beyond the limit
  EXPECT_EQ(fewest_machines(one, even, {0.99, 0.999}, 3, 50, 1), 51);  // nothing is fast enough
}

TEST(LoadError, IsThatOfPoissonAndMoreInBursts) {
  const auto calm = take_arrivals(Arrivals::poisson(10, 5), 10000);
  EXPECT_NEAR(load_error(calm), 0.01, 0.006);
  std::vector<double> bursts;  // every other twentieth at three times the rate
  for (int block = 0; block < 20; ++block) {
    const int count = block % 2 == 0 ? 300 : 100;
    for (int i = 0; i < count; ++i) bursts.push_back(block + static_cast<double>(i) / count);
  }
  EXPECT_GT(load_error(bursts), 0.1);
  EXPECT_EQ(load_error({1, 2, 3}), 0);
}

TEST(ParseBalancer, NamesWhatItTakes) {
  EXPECT_EQ(*parse_balancer("turns"), Balancer::turns);
  EXPECT_EQ(parse_balancer("robin").error().what, "'robin': random or turns");
}

}  // namespace
}  // namespace ocrtune
