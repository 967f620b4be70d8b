// All hosts of a run at once: their cards, what differs, who is slow, which network joins them, and
// who did not answer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "extras/consistency/consistency.h"
#include "extras/hosts/agents.h"
#include "extras/hosts/host_card.h"
#include "extras/hosts/host_facts.h"
#include "extras/hosts/network.h"

namespace ocrtune {

struct LostHost {
  std::string host, reason;
};

// The same seeded step, with `threads` threads on each host at once.
struct HostSpeed {
  std::string host;
  double lines_per_second = 0;  // median of the windows
  bool slow = false;            // in both of two measurements
};

struct HostSurvey {
  std::string launcher;
  std::vector<HostCard> cards;  // of those that answered, in the order of the user
  std::vector<LostHost> lost;
  Consistency consistency;  // over the cards; empty for fewer than two
  std::vector<HostFinding> findings;
  int step_threads = 0;  // 0: not measured
  std::vector<HostSpeed> speeds;
  std::vector<Link> links;
  NetworkAnswer network;  // its findings are among `findings`

  // All hosts answered, and where it was measured, a network joins them.
  bool complete() const { return lost.empty() && (step_threads == 0 || !network.network.empty()); }
};

// Starts an agent on each host, asks it for its card, unless `quick` measures speeds and links, and
// ends all agents.
// interrupted; a host that does not answer is no error.
Result<HostSurvey> survey_hosts(const std::vector<HostName>& hosts, const AgentOptions& options,
                                CardRequest request);
// The same through agents that live on.
Result<HostSurvey> survey_agents(Agents& agents, CardRequest request);
// Adds the links between the hosts that have a card, and what is found by them.
Status survey_links(Agents& agents, HostSurvey& survey);

}  // namespace ocrtune
