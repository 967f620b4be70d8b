// The kernel's side of the door: every call without the extra ends in the same error of usage.
#include "cli/hosts_door.h"

#include "base/text.h"
#include "cli/extras.h"

namespace ocrtune {
namespace {

Error no_door() { return {ErrorKind::usage, "several hosts: this build lacks the extra hosts"}; }

}  // namespace

void declare_hosts(Flags& cli, HostFlags& flags) {
  if (hosts_door() == nullptr) return;
  cli.option("--hosts", flags.hosts, "LIST|FILE",
             "Ask these hosts: a,b:2, a hostfile, or without a value the "
             "allocation of Slurm or PBS")
      .value_optional()
      .tell(flags.given)
      .under("Several hosts");
  cli.option("--launcher", flags.launcher, "NAME", "Start programs on the hosts by this")
      .one_of({"auto", "ssh", "mpirun", "srun"})
      .under("Several hosts");
  cli.option("--host-timeout", flags.deadline, "DURATION",
             "Give up a host that has not answered for this time")
      .formerly("--deadline")
      .under("Several hosts");
}

const HostsDoor* hosts_door() {
  for (const Extra& extra : extras()) {
    if (extra.hosts != nullptr) return extra.hosts;
  }
  return nullptr;
}

void take_hosts(const std::vector<std::string>& hosts, const std::string& launcher,
                HostFlags& flags) {
  if (flags.given || hosts.empty()) return;
  flags.given = true;
  flags.hosts = join(hosts, ",");
  if (flags.launcher == "auto") flags.launcher = launcher;
}

Result<HostNames> host_names(const HostFlags& flags) {
  const HostsDoor* door = hosts_door();
  return door == nullptr ? no_door() : door->names(flags);
}

Result<std::unique_ptr<OpenHosts>> open_hosts(const HostFlags& flags) {
  const HostsDoor* door = hosts_door();
  return door == nullptr ? no_door() : door->open(flags);
}

Result<SessionDoors> doors_of(HostFlags flags, const Job& stored, bool no_wait) {
  take_hosts(stored.command_job().hosts, stored.command_job().launcher, flags);
  if (!flags.given) return SessionDoors();
  const auto hosts = OCRTUNE_TRY(open_hosts(flags));
  OCRTUNE_TRY(hosts->take_turns(no_wait));
  return hosts->doors();
}

}  // namespace ocrtune
