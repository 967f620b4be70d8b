// How `ocrtune` becomes ocrtune-engine, as git becomes git-upload-pack.
#include "cli/engine_commands.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/interrupt.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

const EngineCommands* g_commands = nullptr;

}  // namespace

const EngineCommands* engine_commands() { return g_commands; }
void set_engine_commands(const EngineCommands* commands) { g_commands = commands; }

bool engine_is_elsewhere() { return g_commands == nullptr && engine_program().ok(); }

bool left_to_engine() { return engine_was_asked() && engine_is_elsewhere(); }

Error start_engine(const std::vector<std::string>& words) {
  const auto program = engine_program();
  if (!program) return program.error();
  if (interrupted()) return {ErrorKind::interrupted, "interrupted"};
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execv's old signature
  }
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  release_interrupts();  // it blocks and ignores for itself
  ::execv(program->c_str(), arguments.data());
  return system_error(errno, "start " + *program);
}

}  // namespace ocrtune
