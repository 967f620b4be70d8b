// What declares the flags of the engine's commands: cli/engine_commands.h has them in its rows.
#pragma once

#include "cli/commands.h"

namespace ocrtune {

CommandRun declare_import(Flags& flags);
CommandRun declare_infer(Flags& flags);
CommandRun declare_infer_worker(Flags& flags);
CommandRun declare_make_data(Flags& flags);
CommandRun declare_train(Flags& flags);
CommandRun declare_worker(Flags& flags);

}  // namespace ocrtune
