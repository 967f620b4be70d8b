#include "trial/workloads/service/closed_load.h"

#include <algorithm>
#include <unordered_map>

#include "base/interrupt.h"
#include "trial/workloads/service/arrivals.h"

namespace ocrtune {

ClosedResult run_closed(LoadTarget& target, Clock& clock, const ClosedPlan& plan) {
  KindDraw kinds(plan.kind_weights, plan.seed);
  ClosedResult result;
  std::unordered_map<std::uint64_t, double> started;  // in flight
  std::vector<Completion> finished;
  const double start = clock.now_seconds();
  const double end = start + plan.max_seconds;
  const double given_up =
      end + (plan.patience_seconds > 0 ? plan.patience_seconds : plan.max_seconds);
  double last = start;
  std::int64_t answered = 0;
  const auto sending = [&] {
    return result.issued < plan.max_requests && clock.now_seconds() < end && !interrupted();
  };
  // Sends until the end, then waits for what is still on its way.
  while (sending() || (!started.empty() && clock.now_seconds() < given_up)) {
    while (sending() && static_cast<int>(started.size()) < plan.in_flight) {
      const std::uint64_t number = plan.first_request + static_cast<std::uint64_t>(result.issued++);
      started[number] = clock.now_seconds();
      target.start(number, kinds.next());
    }
    finished.clear();
    target.collect(std::min(clock.now_seconds() + 0.1, given_up), finished);
    for (const Completion& one : finished) {
      const auto found = started.find(one.request);
      if (found == started.end()) continue;
      if (one.ok) {
        result.latency.add(one.finished_seconds - found->second);
        ++answered;
      } else {
        ++result.failed;
      }
      last = std::max(last, one.finished_seconds);
      started.erase(found);
    }
    if (interrupted()) break;
  }
  result.unanswered = static_cast<std::int64_t>(started.size());
  if (last > start) result.requests_per_second = static_cast<double>(answered) / (last - start);
  return result;
}

}  // namespace ocrtune
