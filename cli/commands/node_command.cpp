// ocrtune node: the agent on a host of probe --hosts; started by a launcher, not by hand.
#include "cli/commands.h"
#include "hosts/agent.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {

CommandRun declare_node(Flags&) {
  return [] { return run_agent(program_version()); };
}

}  // namespace ocrtune
