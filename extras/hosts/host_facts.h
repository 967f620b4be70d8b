// What differs between hosts: their cards as the keys and values that consistency/ compares.
#pragma once

#include <string>
#include <vector>

#include "extras/consistency/consistency.h"
#include "extras/hosts/host_card.h"

namespace ocrtune {

// For compare_configs(): "host.kernel", "host.shm_bytes", "version.nvidia-driver", ... beside what
// the card's config holds. Sizes and rates within 5 % of their median count as equal.
std::vector<FlatConfig> comparable_hosts(const std::vector<HostCard>& cards);

struct HostFinding {
  std::string host;  // "" concerns all
  std::string kind;  // for machines: "own_name", "name", "clock", "duplicate_address"
  std::string text;  // a sentence, with the way out
};

// What is wrong with one host even if all others have it too: names that resolve to loopback or
// differently, an address that two hosts have.
std::vector<HostFinding> name_findings(const std::vector<HostCard>& cards);

// Seconds by which each host's clock is ahead of the launcher's, each known to +- `error`.
struct ClockReading {
  std::string host;
  double ahead_seconds = 0;
  double error_seconds = 0;
};
std::vector<HostFinding> clock_findings(const std::vector<ClockReading>& readings);

}  // namespace ocrtune
