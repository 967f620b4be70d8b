// How much a target answers at most, and with how many requests in flight.
//
// Numbers in flight are tried upwards until two in a row bring nothing, the second one seen for
// longer: one stalled connection is no limit. One step is enough where it was long and its latency
// grew as the number in flight did: then a queue is measured (Little's law; GuideLLM ends a sweep
// by the same two slopes). Where requests are turned away or fail, the number is sought between the
// last that were answered and the first that were not.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "trial/load_point.h"
#include "trial/workloads/service/closed_load.h"

namespace ocrtune {

inline constexpr int kMostInFlight = 1024;

// One number in flight, tried.
struct ClosedStep {
  int in_flight = 1;
  double requests_per_second = 0;
  double p50_seconds = 0, p95_seconds = 0, p99_seconds = 0;
  double seconds = 0;  // that were counted
  std::int64_t answered = 0;
  std::int64_t failed = 0;   // unanswered ones included
  std::int64_t refused = 0;  // turned away because of the load
};

struct ClosedMaximumOptions {
  double step_seconds = 0.3;  // of counting, for each number in flight
  double seconds = 20;        // no step begins after this; a round takes what it takes
  double rising_seconds = 0;  // the same as long as more in flight bring more; longer for slow ones
  double max_seconds = 1e9;   // whatever more in flight would bring
  std::int64_t max_requests = INT64_MAX;  // of a step
  int max_in_flight = kMostInFlight;
  double max_failed_share = 0.01;  // of the requests: beyond it so many in flight are too many
  double patience_seconds = 30;    // for answers that are late
  std::vector<double> kind_weights;
  std::uint64_t seed = 1;
  std::uint64_t first_request = 0;
  std::function<void(const ClosedStep&)> on_step;  // may be empty
  // Starts a target anew that ended under load, so that fewer in flight can be tried; may be empty.
  std::function<Result<LoadTarget*>()> restart;
};

struct ClosedMaximum {
  int in_flight = 1;
  double requests_per_second = 0;
  ClosedResult alone;  // one request at a time
  // The fewest in flight of which some were turned away; 0: none were, 1: the rate itself is
  // limited.
  int refused_from = 0;
  int failed_from = 0;           // the fewest in flight of which some failed; 0: none did
  int ended_from = 0;            // the fewest in flight under which the target ended; 0: it lives
  LoadTarget* target = nullptr;  // the one that was asked last
  bool open = false;  // the last number in flight still brought more, and no more was tried
  // Every request took this, however many there were: it waits, it does not compute. 0: no.
  double fixed_wait_seconds = 0;
  std::int64_t unanswered = 0;  // that the target may still work at
  std::vector<ClosedStep> steps;
  std::uint64_t next_request = 0;

  const ClosedStep* step_of(int number_in_flight) const;  // null: it was not tried
  std::vector<LoadPoint> loads() const;                   // the steps
};

// failed: the target answers nothing right, or has ended before it did; interrupted.
Result<ClosedMaximum> find_closed_maximum(LoadTarget& target, Clock& clock,
                                          const ClosedMaximumOptions& options);

}  // namespace ocrtune
