// Measures the links between hosts through their agents: round after round of disjoint pairs, one
// direction at a time.
#pragma once

#include <vector>

#include "base/result.h"
#include "extras/hosts/agents.h"
#include "extras/hosts/network.h"

namespace ocrtune {

inline constexpr std::size_t kMaxRounds = 17;  // 18 hosts: every pair; more: a sample of pairs
inline constexpr double kPairSeconds = 0.5;    // of bytes, a link

// `agent_of` has the agent of each card. Links of a host that gets lost keep an error. interrupted.
Result<std::vector<Link>> measure_network(Agents& agents, const std::vector<HostCard>& cards,
                                          const std::vector<std::size_t>& agent_of);

}  // namespace ocrtune
