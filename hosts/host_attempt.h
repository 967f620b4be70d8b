// One attempt of a long run (supervise/supervised_attempt.h) on several hosts at once: each host's
// agent starts its part and watches it as it would be watched here; what they say, their memory and
// their ends come together in the attempt that supervise() sees.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "hosts/agents.h"
#include "probes/machine/machine.h"
#include "supervise/supervise.h"

namespace ocrtune {

// Attempts on the first `nodes` of the hosts, as the setting says. The lines of several hosts come
// as "b | line". The first host that fails ends the others and is named (AttemptEnd::host). A lost
// host fails the attempt; the next one starts all agents anew. `agents`: those that are there.
AttemptRunner attempts_on(std::vector<HostName> hosts, AgentOptions options,
                          std::shared_ptr<Agents> agents);

// The agent's side: what it is asked, filled for this host.
Result<AttemptPlan> parse_host_attempt(const std::string& text, const Machine& machine);

struct EndedPart {
  std::string host;
  AttemptEnd end;
};
// The attempt that its parts make, the first host's first: what failed first, by the seconds of its
// end, but a process that was killed and a lost host before one that missed them. Memory is the
// fullest host's.
AttemptEnd merge_ends(std::vector<EndedPart> parts);

}  // namespace ocrtune
