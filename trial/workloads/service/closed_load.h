// A closed load: always the same number of requests in flight, a new one for each answer.
//
// It says nothing about an SLO (a waiting client asks less); it tells what one request takes alone
// and how much a target does at most, from which an open search starts.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "trial/workloads/service/latency_histogram.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

struct ClosedPlan {
  int in_flight = 1;
  double max_seconds = 1;
  double patience_seconds = 0;  // for what is still on its way then; 0: max_seconds again
  std::int64_t max_requests = 1000;
  std::vector<double> kind_weights;  // as in LoadPlan
  std::uint64_t seed = 1;
  std::uint64_t first_request = 0;
};

struct ClosedResult {
  double requests_per_second = 0;  // answered and right
  LatencyHistogram latency;        // from the real start
  std::int64_t issued = 0;
  std::int64_t failed = 0;
  std::int64_t unanswered = 0;  // when the patience ended

  double failed_share() const {
    return issued > 0 ? static_cast<double>(failed + unanswered) / static_cast<double>(issued) : 0;
  }
};

ClosedResult run_closed(LoadTarget& target, Clock& clock, const ClosedPlan& plan);

}  // namespace ocrtune
