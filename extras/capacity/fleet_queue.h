// Several machines behind a load balancer, each of them a queue of its own (queueing.h).
//
// Machines are alike before the balancer knows them, so where there are many, some stand for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "extras/capacity/queueing.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

// random: each request to any machine, as kube-proxy does. turns: one after the other; one that
// asks for the fewest open requests does at least as well.
enum class Balancer { random, turns };

Result<Balancer> parse_balancer(const std::string& name);  // "random", "turns"; usage

// What comes to the fleet. `arrivals` of requests (or pages, see simulate_pages) in seconds.
struct FleetDemand {
  std::vector<double> arrivals;
  std::vector<int> requests_per_page;
  Balancer balancer = Balancer::random;
  // Relative standard deviation between the speeds of the fleet's machines: each gets the same
  // share of the load, so the slow ones miss the target first.
  double machine_spread = 0;
};

// Latency at the percentile; each machine is one `model`, at its own speed. Of many requests some
// machines alone are simulated, from the slowest to the fastest. Deterministic by seed.
double fleet_latency(const QueueModel& model, const FleetDemand& demand, int machines,
                     double percentile, std::uint64_t seed);

// The fewest machines that meet the target, tried from `guess` on; limit + 1: more than `limit`.
int fewest_machines(const QueueModel& model, const FleetDemand& demand, const LatencySlo& slo,
                    int guess, int limit, std::uint64_t seed);

// Relative standard error of the mean rate of a recorded load, from the differences of
// neighbouring twentieths of its time: what another record of the same length may differ by. A few
// steps, of a day's shape, do not count. 0 for fewer than 100 arrivals.
double load_error(const std::vector<double>& arrivals);

}  // namespace ocrtune
