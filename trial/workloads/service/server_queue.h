// The latencies that requests would have, were their server a queue of equal slots.
//
// Most of the luck of a short load lies in its arrivals, and these are known: a burst that makes
// the server late makes a queue like it late as well, whose share of late requests over a long time
// is known too. So what counts of a load is what it shows beyond its arrivals (a control variate:
// Lavenberg and Welch, Management Science 27, 1981). A queue unlike the server explains less, and
// then the judgement rests on what was seen alone.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "base/random.h"
#include "trial/load_point.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

class QueuedRequests {
 public:
  explicit QueuedRequests(const ServerQueue& queue);

  // Of the next request, in the order of arrival; infinite when it is turned away.
  double latency_seconds(double arrival_seconds);

 private:
  ServerQueue queue_;
  Random random_{2};                                                          // of the services
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at_;  // of each slot
};

// The share of Poisson arrivals that are late or turned away, and how many late ones count as one.
struct QueuedShare {
  double late = 0;
  double design_effect = 1;
};
QueuedShare queued_share(const ServerQueue& queue, const LatencySlo& slo,
                         double requests_per_second, int requests);

}  // namespace ocrtune
