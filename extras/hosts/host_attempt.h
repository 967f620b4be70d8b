// One attempt of a long run (extras/supervise/supervised_attempt.h) on several hosts at once: each
// host's agent starts its part and watches it as it would be watched here; what they say, their
// memory and their ends come together in the attempt that supervise() sees.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "extras/hosts/agents.h"
#include "extras/supervise/supervise.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// A host that reboots is away for minutes, and a switch may be for some: that is no failure of the
// training.
struct HostPatience {
  double seconds = 1800;  // for a lost host to come back
  std::function<void(const std::string&)>
      on_wait;  // told for which host, once a wait; may be empty
};

// Attempts on the first `nodes` of the hosts, as the setting says. The lines of several hosts come
// as "b | line". The first host that fails ends the others and is named (AttemptEnd::host). A host
// that falls silent for 5 min (or the patience, if that is less) is lost and fails the attempt; the
// next one waits for it, and starts its agent anew, no other; that one first ends its predecessor
// and its job, should they still be there. `agents`: those that are there. Errors: of run_attempt()
// on a host, which is named.
AttemptRunner attempts_on(std::shared_ptr<Agents> agents, HostPatience patience);

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
