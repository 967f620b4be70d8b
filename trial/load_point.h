// One load that a service was put under, with what its answers took.
#pragma once

#include <cstdint>
#include <string>

namespace ocrtune {

struct LoadPoint {
  int in_flight = 0;  // so many all the time; 0: requests came when the rate said, answered or not
  double requests_per_second = 0;
  double p50_seconds = 0, p95_seconds = 0, p99_seconds = 0;
  double latency_seconds = 0;  // at the percentile of the latency target; 0: there is none
  std::int64_t requests = 0;
  std::int64_t late = 0;  // beyond the latency target, or failed
  std::string verdict;    // of a latency target: kept, broken, undecided; empty: none was judged
};

// A service as a queue: so many requests at once, each of which takes this long in the mean.
struct ServerQueue {
  int slots = 0;  // 0: unknown
  double service_seconds = 0;
  double spread = 0;   // standard deviation of its logarithm
  bool sheds = false;  // a request that finds no slot is turned away
};

// A rate of requests to be run at full length.
struct RateToProve {
  double requests_per_second = 0;  // 0: none, a rate is searched for
  ServerQueue queue;               // that the service resembles
};

}  // namespace ocrtune
