// The hosts of a run: their agents, and the doors by which a session measures through them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands/host_flags.h"
#include "hosts/agents.h"
#include "tuner/session/session.h"

namespace ocrtune {

struct JobHosts {
  std::shared_ptr<Agents> agents;
  Machine machine;                 // what every host has at least
  std::vector<std::string> notes;  // how they differ, and what is wrong with their names

  SessionDoors doors() const;
};

// Starts an agent on each host. missing: a host that does not answer, by name; interrupted.
Result<JobHosts> open_hosts(const HostChoice& choice);
// Of a command that goes on with a run; without --hosts, the doors of this machine.
Result<SessionDoors> doors_of(const HostFlags& flags);

}  // namespace ocrtune
