// ocrtune probe: the machine card.
#include <cstdio>
#include <memory>

#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/hosts_door.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "probes/machine/machine_json.h"
#include "probes/probe.h"
#include "reports/console/machine_console.h"

namespace ocrtune {
namespace {

struct ProbeFlags {
  ProbeOptions options;
  HostFlags hosts;
  bool json = false;
};

Result<int> probe_hosts(const ProbeFlags& flags) {
  if (!flags.options.root.empty() || !flags.options.topology.empty()) {
    return Error{ErrorKind::usage, "--hosts asks living hosts: leave --root and --topology out"};
  }
  return hosts_door()->probe(flags.hosts, flags.options.quick, flags.json);
}

Result<int> run_probe(const ProbeFlags& flags) {
  if (flags.hosts.given) return probe_hosts(flags);
  const ProbeOptions& asked = flags.options;
  const bool measures = !asked.quick && asked.root.empty() && asked.topology.empty();
  const auto machine = [&] {
    const WorkLine line("measuring CPUs and memory", !measures || flags.json);
    return probe_machine(asked);
  }();
  if (!machine) return machine.error();
  if (interrupted()) {
    return Error{ErrorKind::interrupted, "interrupted",
                 "--quick measures nothing and takes under 1 s"};
  }
  const std::string text =
      flags.json ? machine_json(*machine) + "\n" : machine_card(*machine, console_width(stdout));
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0) return Error{ErrorKind::failed, "stdout cannot be written"};
  return kExitOk;
}

}  // namespace

CommandRun declare_probe(Flags& cli) {
  auto flags = std::make_shared<ProbeFlags>();
  cli.toggle("--quick", flags->options.quick, "Measure nothing (under 1 s)");
  cli.option("--root", flags->options.root, "DIR",
             "Read /proc, /sys and cgroups from this saved tree; nothing of this machine enters, "
             "and nothing is measured")
      .folder();
  cli.option("--topology", flags->options.topology, "XML|TEXT",
             "Take this hwloc XML file or synthetic description for the topology")
      .file();
  declare_hosts(cli, flags->hosts);
  cli.json(flags->json);
  return [flags] { return run_probe(*flags); };
}

}  // namespace ocrtune
