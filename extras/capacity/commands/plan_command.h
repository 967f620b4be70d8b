// ocrtune plan.
#pragma once

#include "cli/commands.h"

namespace ocrtune {

CommandRun declare_plan(Flags& cli);

}  // namespace ocrtune
