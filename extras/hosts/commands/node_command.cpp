// ocrtune node: the agent on a host of probe --hosts; started by a launcher, not by hand.
#include "extras/hosts/commands/node_command.h"

#include "cli/engine_commands.h"
#include "extras/hosts/agent.h"
#include "trial/workloads/engine_parts.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {

CommandRun declare_node(Flags&) {
  return []() -> Result<int> {
    // With the engine, where it is: hosts are compared by a step of its training.
    if (engine_is_elsewhere()) return engine_elsewhere();
    return run_agent(program_version());
  };
}

}  // namespace ocrtune
