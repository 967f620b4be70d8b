// First what is still on its way, then single requests as probes: the server is empty when one of
// them is as quick as alone. No load is made, so the waiting itself keeps nothing busy.
#include "trial/workloads/service/settling.h"

#include <algorithm>

#include "base/interrupt.h"
#include "trial/workloads/service/closed_load.h"

namespace ocrtune {
namespace {

constexpr double kAlike = 1.5;          // times the time alone
constexpr double kAlikeSeconds = 0.02;  // and this: short answers vary by more
constexpr double kSettlingPauseSeconds = 0.1;

}  // namespace

Settled wait_until_empty(LoadTarget& target, Clock& clock, std::int64_t unanswered,
                         double alone_seconds, double max_seconds, std::uint64_t next_request) {
  const double start = clock.now_seconds();
  const double end = start + max_seconds;
  Settled settled;
  // What the client gave up is never answered: half of the time is for the rest, then it is asked.
  settled.empty = drain(target, clock, unanswered, start + max_seconds / 2) == 0;
  while (clock.now_seconds() < end && !interrupted() && target.ended().empty()) {
    ClosedPlan plan;
    plan.min_seconds = 0;
    plan.max_requests = 1;
    // One request may take all the time that is left.
    plan.max_seconds = plan.patience_seconds =
        std::max(end - clock.now_seconds(), kSettlingPauseSeconds);
    plan.first_request = next_request;
    const ClosedResult one = run_closed(target, clock, plan);
    next_request += static_cast<std::uint64_t>(one.issued);
    settled.empty = one.latency.count() > 0 &&
                    one.latency.quantile(0.5) <= kAlike * alone_seconds + kAlikeSeconds;
    if (settled.empty) break;
    clock.sleep_seconds(kSettlingPauseSeconds);
  }
  settled.seconds = clock.now_seconds() - start;
  settled.next_request = next_request;
  return settled;
}

}  // namespace ocrtune
