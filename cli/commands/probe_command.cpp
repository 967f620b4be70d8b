// ocrtune probe: the machine card.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command_list.h"
#include "cli/commands.h"
#include "probes/machine/machine_json.h"
#include "probes/probe.h"
#include "reports/console/machine_console.h"

namespace ocrtune {
namespace {

struct ProbeFlags {
  ProbeOptions options;
  bool json = false;
};

Result<int> run(const ProbeFlags& flags) {
  const auto machine = probe_machine(flags.options);
  if (!machine) return machine.error();
  const std::string text = flags.json ? machine_json(*machine) + "\n" : machine_card(*machine);
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0) return Error{ErrorKind::failed, "stdout cannot be written"};
  return kExitOk;
}

}  // namespace

Command probe_command() {
  return {"probe", "Shows what this machine allows: CPUs, memory, instructions, GPUs",
          "ocrtune probe --quick\n  ocrtune probe --json > machine.json\n"
          "  ocrtune probe --topology 'pack:2 numa:2 l3:2 core:8 pu:2'",
          [](CLI::App& app) -> std::function<Result<int>()> {
            auto flags = std::make_shared<ProbeFlags>();
            app.add_flag("--quick", flags->options.quick, "Measure nothing (under 1 s)");
            app.add_flag("--json", flags->json, "One JSON document on stdout");
            app.add_option("--root", flags->options.root,
                           "Read /proc, /sys and cgroups from this saved tree; nothing of this "
                           "machine enters, and nothing is measured")
                ->type_name("DIR");
            app.add_option("--topology", flags->options.topology,
                           "hwloc XML file or synthetic description instead of the real topology")
                ->type_name("XML|TEXT");
            return [flags] { return run(*flags); };
          }};
}

}  // namespace ocrtune
