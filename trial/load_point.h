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

}  // namespace ocrtune
