// The commands of the built-in engine, and the program that has them.
//
// `ocrtune` lists them, and becomes ocrtune-engine where one of them, or a job of the engine's, is
// asked for: the same words, the same process. ocrtune-engine has all commands.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"

namespace ocrtune {

struct EngineCommands {
  CommandRun (*train)(Flags& flags);
  CommandRun (*infer)(Flags& flags);
  CommandRun (*import)(Flags& flags);
  CommandRun (*make_data)(Flags& flags);
  CommandRun (*worker)(Flags& flags);
  CommandRun (*infer_worker)(Flags& flags);
};

const EngineCommands* engine_commands();  // null: this program is `ocrtune`
void set_engine_commands(const EngineCommands* commands);

// Whether another program is to answer that has more than this one, and is there.
bool engine_is_elsewhere();

// What failed here wants the engine, and the program that has it is there: give the error on, and
// main() starts that program.
bool left_to_engine();

// The engine's program in place of this one, with the same words. Returns only an error: missing,
// or interrupted meanwhile.
Error start_engine(const std::vector<std::string>& words);

}  // namespace ocrtune
