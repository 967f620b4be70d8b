#include "cli/commands/host_flags.h"

#include "base/environment.h"
#include "base/process.h"
#include "base/text.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {

void declare_hosts(Flags& cli, HostFlags& flags) {
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

Result<HostChoice> choose_hosts(const HostFlags& flags) {
  const Environment environment = process_environment();
  HostChoice choice;
  choice.hosts = OCRTUNE_TRY(resolve_hosts(flags.hosts, environment));
  choice.options.launcher =
      OCRTUNE_TRY(choose_launcher(flags.launcher, environment, [](const std::string& name) {
        return find_executable(name).ok();
      }));
  const auto deadline = parse_duration(flags.deadline);
  if (!deadline) return Error{ErrorKind::usage, "--host-timeout: " + deadline.error().what};
  choice.options.deadline_seconds = *deadline;
  choice.options.program = own_program();
  choice.options.version = program_version();
  return choice;
}

}  // namespace ocrtune
