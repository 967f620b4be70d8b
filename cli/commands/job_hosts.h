// The hosts of a run: their agents, and the doors by which a session measures through them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands/host_flags.h"
#include "hosts/agents.h"
#include "hosts/host_survey.h"
#include "tuner/session/session.h"

namespace ocrtune {

struct JobHosts {
  std::shared_ptr<Agents> agents;
  HostSurvey survey;
  Machine machine;                 // what every host has at least
  std::vector<std::string> notes;  // how they differ, and what is wrong with their names

  // Each remote host's turn to be measured, kept until the agents end. exhausted: another
  // measurement has it and `no_wait`; interrupted while waiting.
  Status take_turns(bool no_wait);
  Status measure_links();  // into the machine and the notes; interrupted
  SessionDoors doors() const;
};

// Starts an agent on each host. missing: a host that does not answer, by name; interrupted.
Result<JobHosts> open_hosts(const HostChoice& choice);
// The hosts of a stored run, unless the flags name others.
void take_hosts(const std::vector<std::string>& hosts, const std::string& launcher,
                HostFlags& flags);
// Of a command that goes on with a run: on the flags' hosts or its own, else on this machine.
Result<SessionDoors> doors_of(HostFlags flags, const Job& stored, bool no_wait);

}  // namespace ocrtune
