// The queue is simulated request by request: the earliest free slot takes the next one. The random
// numbers are fixed, so that all runs are compared with the same queue.
#include "trial/workloads/service/server_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace ocrtune {

QueuedRequests::QueuedRequests(const ServerQueue& queue) : queue_(queue) {
  OCRTUNE_CHECK(queue.slots > 0);
  // All slots are free before the first request.
  for (int i = 0; i < queue.slots; ++i) free_at_.push(-std::numeric_limits<double>::infinity());
}

double QueuedRequests::latency_seconds(double arrival_seconds) {
  const double free = free_at_.top();
  if (queue_.sheds && free > arrival_seconds) return std::numeric_limits<double>::infinity();
  double seconds = queue_.service_seconds;
  if (queue_.spread > 0) {
    // Log-normal service times with the mean that is asked for.
    seconds *= std::exp(queue_.spread * random_.normal() - queue_.spread * queue_.spread / 2);
  }
  const double end = std::max(arrival_seconds, free) + seconds;
  free_at_.pop();
  free_at_.push(end);
  return end - arrival_seconds;
}

QueuedShare queued_share(const ServerQueue& queue, const LatencySlo& slo,
                         double requests_per_second, int requests) {
  Random random(1);
  QueuedRequests queued(queue);
  BlockCounts late;
  double now = 0;
  for (int i = 0; i < requests; ++i) {
    now += random.exponential(requests_per_second);
    const bool over = queued.latency_seconds(now) > slo.seconds;
    if (i >= requests / 10) late.add(over);  // the first tenth fills the queue
  }
  return {late.share(0), late.design_effect(0)};
}

}  // namespace ocrtune
