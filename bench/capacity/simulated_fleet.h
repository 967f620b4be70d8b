// A fleet behind a load balancer, event by event: what capacity plans are checked against.
//
// Written apart from capacity/queueing.h and unlike it on purpose: several machines that differ, a
// balancer, lines of different widths that are padded to the widest of their batch, pauses, a
// machine that dies with its queue, and its replacement that starts slowly.
#pragma once

#include <cstdint>
#include <vector>

namespace ocrtune {

enum class FleetBalancer { random, turns, least_loaded };

struct FleetWorld {
  int servers = 1;  // processes on each machine
  int batch = 1;    // line images that a process takes at once, at most
  // A batch of k takes (fixed + each x k x its widest line) x a draw of the spread, over the
  // machine's speed. Widths and spread are lognormal with mean 1.
  double fixed_seconds = 0.01, seconds_each = 0.01;
  double width_spread = 0.3;
  double spread = 0.1;
  double pause_share = 0;  // of the batches, that take pause_factor times as long
  double pause_factor = 3;
  double machine_spread = 0.03;  // relative standard deviation of a machine's speed
  double warm_up_seconds = 20;   // of a new machine, which is that long warm_up_factor times slower
  double warm_up_factor = 3;
  FleetBalancer balancer = FleetBalancer::random;
};

struct FleetFault {
  double at_seconds = -1;        // when the first machine dies; below 0: none does
  double noticed_seconds = 4;    // until the balancer sends its requests elsewhere
  double replaced_seconds = 60;  // after its death
};

// Requests of one or several line images; `at` ascending, in seconds.
struct FleetLoad {
  std::vector<double> at;
  std::vector<int> lines;
};

// Two rates in turn, exponential times in each; the mean of both is `rate`. `burst` 1: Poisson.
FleetLoad bursty_load(double rate, double seconds, double burst, double burst_seconds,
                      const std::vector<int>& lines_per_page, std::uint64_t seed);

// Seconds of each request until its last line was read. `speed`: of the whole fleet that day.
std::vector<double> simulate_fleet(const FleetWorld& world, const FleetLoad& load, int machines,
                                   const FleetFault& fault, double speed, std::uint64_t seed);

// One process that never waits: seconds of each of `count` full batches.
std::vector<double> saturated_batches(const FleetWorld& world, int batch, double speed, int count,
                                      std::uint64_t seed);

}  // namespace ocrtune
