// A closed load: always the same number of requests in flight, a new one for each answer.
//
// It says nothing about an SLO (a waiting client asks less); it tells what one request takes alone
// and how much a target does at most, from which an open search starts.
//
// The clock of a step starts once every request of the first round is answered, so that making
// connections is no part of the rate: a listen backlog that overflows costs a connection a second.
// What is counted then is whole rounds, as many answers as are in flight, because a target that
// answers in batches is else counted up to a batch too high or too low.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "trial/latency_histogram.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

struct ClosedPlan {
  int in_flight = 1;
  int connected = 1;                      // connections that an earlier load has made
  double min_seconds = 1;                 // of counting, unless max_requests come first
  double max_seconds = 60;                // of sending; then what is known counts
  double patience_seconds = 30;           // for what is still on its way after the last was sent
  std::int64_t max_requests = INT64_MAX;  // counted
  std::vector<double> kind_weights;       // as in LoadPlan
  std::uint64_t seed = 1;
  std::uint64_t first_request = 0;
};

struct ClosedResult {
  double requests_per_second = 0;  // good answers, over whole rounds
  double seconds = 0;              // that these rounds took
  LatencyHistogram latency;        // of the good answers that were counted, from the real start
  std::int64_t issued = 0;
  std::int64_t failed = 0;      // refused ones left out
  std::int64_t refused = 0;     // turned away because of the load
  std::int64_t unanswered = 0;  // when the patience ended

  double failed_share() const { return share(failed + unanswered); }
  double refused_share() const { return share(refused); }

 private:
  double share(std::int64_t count) const {
    return issued > 0 ? static_cast<double>(count) / static_cast<double>(issued) : 0;
  }
};

// Ends early when the target has ended, and when a tenth of the requests and at least 20 are
// failed or refused: a server that sheds load is not to be flooded. Who is turned away comes back
// after a quarter of an answer's time; one request at a time floods nobody, and finds a limit of
// the rate.
ClosedResult run_closed(LoadTarget& target, Clock& clock, const ClosedPlan& plan);

// Waits for the answers of requests that an earlier load left behind. Gives how many are missing
// still at `until_seconds`.
std::int64_t drain(LoadTarget& target, Clock& clock, std::int64_t unanswered, double until_seconds);

}  // namespace ocrtune
