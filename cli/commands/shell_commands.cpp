// ocrtune help, man and completion: what the command table says of itself.
#include <cstdio>
#include <memory>
#include <string>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/engine_commands.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/shell/terminal.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {

CommandRun declare_help(Flags& flags) {
  auto topic = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);
  Flag& name = flags.argument("name", *topic, "Command to explain; all commands if left out");
  name.from_list("commands").metavar = "COMMAND";
  flags.toggle("--all", *all, "List the commands that most people never need, too");
  return [topic, all]() -> Result<int> {
    if (*topic == kEngineGroup || *topic == kHostsGroup) {
      std::fputs(group_help(*topic, help_width(stdout), terminal_language()).c_str(), stdout);
      return kExitOk;
    }
    const Command* command = find_command(*topic);
    if (command == nullptr && !topic->empty()) {
      const std::string near = nearest_command(*topic);
      return Error{ErrorKind::usage, "no command '" + *topic + "'" +
                                         (near.empty() ? "; ocrtune help lists them"
                                                       : "; did you mean " + near + "?")};
    }
    // Its flags are declared in the other program alone.
    if (command != nullptr && command->of_engine && engine_is_elsewhere()) {
      return engine_elsewhere();
    }
    std::string text = program_help(help_width(stdout), *all, terminal_language());
    if (command != nullptr) {
      Flags of_command;
      const CommandRun unused = command->declare(of_command);
      text = command_help(*command, of_command, help_width(stdout), *all, terminal_language());
    }
    std::fputs(text.c_str(), stdout);
    return kExitOk;
  };
}

CommandRun declare_man(Flags& /*flags*/) {
  return []() -> Result<int> {
    if (engine_is_elsewhere()) return engine_elsewhere();  // the flags of all commands
    std::fputs(manual_page().c_str(), stdout);
    return kExitOk;
  };
}

CommandRun declare_completion(Flags& flags) {
  auto shell = std::make_shared<std::string>();
  flags.argument("shell", *shell, "Shell that loads the script")
      .one_of({"bash", "zsh", "fish"})
      .require("name the shell, for example: ocrtune completion bash");
  return [shell]() -> Result<int> {
    if (engine_is_elsewhere()) return engine_elsewhere();
    std::fputs(completion_script(*shell).c_str(), stdout);
    return kExitOk;
  };
}

}  // namespace ocrtune
