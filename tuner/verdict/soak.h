// A soak: the winner once more and for longer, to see whether its memory grows as it works, and
// after how much work it should be started anew.
#pragma once

#include <cstdint>
#include <vector>

#include "trial/reason.h"
#include "trial/trial.h"

namespace ocrtune {

// What the last soak of these knobs showed; empty: there was none. `counts_requests`: the rate is
// of requests, after so many of which a server can be started anew.
Reason soak_reason(const std::vector<Trial>& soaks, const Knobs& knobs, std::uint64_t limit_bytes,
                   bool counts_requests);

}  // namespace ocrtune
