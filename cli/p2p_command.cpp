// ocrtune p2p: does GPU peer-to-peer work here, and what to set where it does not.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/command_list.h"
#include "cli/commands.h"
#include "probes/p2p_json.h"
#include "probes/p2p_static.h"
#include "probes/probe.h"
#include "reports/p2p_console.h"

namespace ocrtune {
namespace {

// Unsafe as things stand: training on these GPUs would hang or go wrong.
bool answer_is_no(P2pClass verdict) {
  switch (verdict) {
    case P2pClass::broken:
    case P2pClass::partial:
    case P2pClass::nvlink_fault:
    case P2pClass::shm_broken:
    case P2pClass::flaky:
    case P2pClass::gpu_wedged:
      return true;
    default:
      return false;
  }
}

Result<int> run(bool json) {
  ProbeOptions options;
  options.quick = true;
  options.gpu_deadline_seconds = 20;
  options.environment = process_environment();
  const auto machine = probe_machine(options);
  if (!machine) return machine.error();
  if (starts_with(machine->gpu_state, "unknown")) {
    return Error{ErrorKind::failed, "GPUs " + machine->gpu_state};
  }
  const P2pVerdict verdict =
      judge_p2p(static_p2p_facts(*machine, FileRoot(), *options.environment));
  const std::string text =
      json ? p2p_json(verdict, machine->gpu_state) + "\n" : p2p_card(verdict, *machine);
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0) return Error{ErrorKind::failed, "stdout cannot be written"};
  return answer_is_no(verdict.verdict) ? kExitAnswerIsNo : kExitFine;
}

}  // namespace

Command p2p_command() {
  return {"p2p", "Says whether GPU peer-to-peer works, and the least change where it does not",
          "ocrtune p2p\n  ocrtune p2p --json", [](CLI::App& app) -> std::function<Result<int>()> {
            auto json = std::make_shared<bool>(false);
            app.add_flag("--json", *json, "One JSON document on stdout");
            return [json] { return run(*json); };
          }};
}

}  // namespace ocrtune
