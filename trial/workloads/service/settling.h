// A server is empty again before the next measurement: requests that a load gave up are still
// worked at, and what comes next would wait behind them.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

struct Settled {
  bool empty = true;   // false: it was still busy at the end
  double seconds = 0;  // that was waited
  std::uint64_t next_request = 0;
};

// Waits for `unanswered` requests, then asks one at a time until an answer takes no longer than
// about what it took alone. At most `max_seconds`.
Settled wait_until_empty(LoadTarget& target, Clock& clock, std::int64_t unanswered,
                         double alone_seconds, double max_seconds, std::uint64_t next_request);

}  // namespace ocrtune
