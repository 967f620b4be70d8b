// An open load: requests start when the schedule says, whether or not earlier ones were answered.
//
// Latency counts from the intended start, so a target (or a generator) that stalls makes every
// request that it delayed late: no coordinated omission (G. Tene, "How NOT to measure latency").
// Requests are judged in the order of their intended start and only when their fate is known, so
// quick answers are not preferred to slow ones. Bookkeeping: under 0.2 us a request.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "trial/latency_histogram.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/load_target.h"
#include "trial/workloads/service/server_queue.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

struct LoadPlan {
  double warm_up_seconds = 0;  // requests intended before this are sent but not counted
  double min_seconds = 0;      // of counted time, before an SLO is judged
  double max_seconds = 60;     // of sending, warm-up included
  std::int64_t max_requests = INT64_MAX;
  std::optional<LatencySlo> slo;     // judged as requests come in, if set
  double confidence = 0.99;          // of the verdict, however often it was looked at
  double min_design_effect = 1;      // known from earlier runs near this rate
  double assumed_design_effect = 1;  // while too few are late for it to be seen
  ServerQueue queue;                 // that the target resembles: what its arrivals make of a load
  QueuedShare queued;                // in the long run
  bool stop_when_decided = true;     // else the verdict is that of all requests
  bool stop_when_vain = false;       // when the time left cannot bring a kept SLO any more
  std::vector<double> kind_weights;  // how often each kind is sent; empty: kind 0 only
  std::uint64_t seed = 1;            // of the kinds
  std::uint64_t first_request = 0;   // number of the first; answers to lower ones are ignored
  std::int64_t max_unanswered = 4000000;  // beyond this many the run is saturated
};

enum class LoadStop { decided, vain, requests, seconds, saturated, target_failed, interrupted };

std::string_view load_stop_name(LoadStop stop);

struct LoadResult {
  LoadStop stop = LoadStop::seconds;
  std::string failure;          // of the target; empty when no request failed
  double completed_rate = 0;    // answered ones a second, failures left out, over the same time
  std::int64_t issued = 0;      // warm-up included
  std::int64_t completed = 0;   // warm-up included
  std::int64_t failed = 0;      // of the completed ones, the refused included
  std::int64_t refused = 0;     // of the failed ones: turned away because of the load
  double seconds = 0;           // of sending that was counted
  std::int64_t unanswered = 0;  // when the run gave up waiting
  LatencyHistogram latency;     // counted requests that were answered, failures left out
  std::vector<LatencyHistogram> kinds;  // the same by kind; empty with one kind
  // The SLO: counted requests whose fate is known, and those over the limit or failed.
  std::int64_t judged = 0;
  std::int64_t over = 0;
  double late_share = 0;  // over / judged, or what they would be over a long time by the queue
  double design_effect = 1;
  SloVerdict verdict = SloVerdict::undecided;
};

// Sends until the plan ends it, then waits for answers until their fate is known (with an SLO)
// or for `kDrainSeconds`. A generator that cannot send as fast as planned stops as long after
// `max_seconds`, and what it did not send counts as late. One thread: the caller's. Ctrl-C ends it
// with what is known.
LoadResult run_load(LoadTarget& target, Clock& clock, Arrivals arrivals, const LoadPlan& plan);

inline constexpr double kDrainSeconds = 10;

// Is the line of unanswered requests growing without end?
//
// A run beyond what its target can do measures only its own length, so it is cut off. Saturated
// means: at least 2 seconds of sending; in each quarter of the last half the unanswered requests
// grew by more than 2 % of those sent; and over that half by more than five standard deviations of
// a Poisson count, which a long but bounded queue does not reach. A single stall fills at most two
// quarters.
class SaturationWatch {
 public:
  // Counts so far at this time (ascending); cheap enough for every few hundred requests.
  void observe(double seconds, std::int64_t issued, std::int64_t completed);
  bool saturated() const;
  // By two standard deviations and in each quarter: too little to end a run, too much for a rate to
  // be kept.
  bool growing() const;

 private:
  struct Point {
    double seconds;
    std::int64_t issued, completed;
  };
  bool grows_by(double stddevs) const;
  Point at(double seconds) const;  // the last point not after this time

  std::deque<Point> points_;  // thinned: at most 512
  double min_gap_seconds_ = 0;
};

}  // namespace ocrtune
