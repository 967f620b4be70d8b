// --hosts, --launcher and --host-timeout, and the door to the hosts that they name. The extra
// `hosts` has the door; a build without that extra has none of these flags.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/flags.h"
#include "probes/machine/machine.h"
#include "tuner/job/job.h"
#include "tuner/session/session.h"

namespace ocrtune {

struct HostFlags {
  bool given = false;
  std::string hosts, launcher = "auto", deadline = "20s";
};

void declare_hosts(Flags& cli, HostFlags& flags);

struct HostNames {
  std::vector<std::string> names;
  std::string launcher;
};

// The hosts of a run, with an agent on each.
class OpenHosts {
 public:
  OpenHosts() = default;
  virtual ~OpenHosts() = default;
  OpenHosts(const OpenHosts&) = delete;
  OpenHosts& operator=(const OpenHosts&) = delete;

  virtual const Machine& machine() const = 0;                 // what every host has at least
  virtual const std::vector<std::string>& notes() const = 0;  // how they differ
  // Each remote host's turn to be measured, kept until the agents end. exhausted: another
  // measurement has it and `no_wait`; interrupted while waiting.
  virtual Status take_turns(bool no_wait) = 0;
  virtual Status measure_links() = 0;      // into the machine and the notes; interrupted
  virtual SessionDoors doors() const = 0;  // by which a session measures on them
};

struct HostsDoor {
  Result<HostNames> (*names)(const HostFlags& flags);  // usage; missing: no file, no launcher
  // Starts an agent on each host. missing: a host that does not answer, by name; interrupted.
  Result<std::unique_ptr<OpenHosts>> (*open)(const HostFlags& flags);
  Result<int> (*probe)(const HostFlags& flags, bool quick, bool json);  // `probe --hosts`
};

const HostsDoor* hosts_door();  // null: this build lacks the extra

// The hosts of a stored run, unless the flags name others.
void take_hosts(const std::vector<std::string>& hosts, const std::string& launcher,
                HostFlags& flags);
// Behind hosts_door(). usage: this build has none.
Result<HostNames> host_names(const HostFlags& flags);
Result<std::unique_ptr<OpenHosts>> open_hosts(const HostFlags& flags);
// Of a command that goes on with a run: on the flags' hosts or its own, else on this machine.
Result<SessionDoors> doors_of(HostFlags flags, const Job& stored, bool no_wait);

}  // namespace ocrtune
