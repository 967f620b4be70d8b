// A soak: the winner once more and for longer, to see whether its memory grows as it works, and
// after how much work it should be started anew.
#pragma once

#include <cstdint>
#include <vector>

#include "trial/reason.h"
#include "trial/trial.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

// The fewest requests in flight with which the trials of this setting found a service to do its
// most; 0: none did. And how long that service takes to start.
struct FullLoad {
  int in_flight = 0;
  double start_seconds = 0;
};
FullLoad full_load(const std::vector<Trial>& trials, const Knobs& knobs);

// The peaks of each setting's last soak; one that crashed or hung counts among its crashes, and one
// that ran out of memory turns the setting away. Settings that work come first, in their order.
void weigh_soaks(const std::vector<Trial>& soaks, std::vector<Setting>& settings);

// What the last soak of these knobs showed; empty: there was none. `counts_requests`: the rate is
// of requests, after so many of which a server can be started anew.
Reason soak_reason(const std::vector<Trial>& soaks, const Knobs& knobs, std::uint64_t limit_bytes,
                   bool counts_requests);

// That the last soak of these knobs was slower than its trials by more than 15 % and 3.5 times the
// noise between trials; empty: it was not, or there was none. Others were not watched for as long.
Reason soak_falls(const std::vector<Trial>& soaks, const std::vector<Trial>& trials,
                  const Knobs& knobs, double noise);

}  // namespace ocrtune
