// The same seeded training step on every host: who is slower than the others, and is so again.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// By the engine's part (trial/workloads/engine_parts.h).
Result<std::vector<double>> seeded_step_rates(int threads);

struct HostRates {
  std::string host;
  std::vector<double> rates;  // of each window
};

// Indexes of those that are slow: by more than 5 % and by more than 3.5 robust deviations. Among
// four hosts and more the deviation is that of the hosts (MAD) around their median; among fewer it
// is that of the windows, and the fastest host is what the others are held against.
std::vector<std::size_t> slow_hosts(const std::vector<HostRates>& hosts);

// What they are held against: the median host's rate, of fewer than four the fastest one's.
double usual_rate(const std::vector<HostRates>& hosts);

}  // namespace ocrtune
