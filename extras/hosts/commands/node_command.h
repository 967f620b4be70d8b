// ocrtune node: the agent on a host.
#pragma once

#include "cli/commands.h"

namespace ocrtune {

CommandRun declare_node(Flags& cli);

}  // namespace ocrtune
