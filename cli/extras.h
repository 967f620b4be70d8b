// What the extras of this build (extras/) add to the program, and the commands of those that it
// lacks. cmake/extras.cmake writes both lists.
#pragma once

#include <string_view>
#include <vector>

#include "cli/commands.h"

namespace ocrtune {

struct HostsDoor;

struct ExtraCommand {
  const char* before;  // the command of the kernel that help shows next
  Command row;
};

struct Extra {
  std::vector<ExtraCommand> commands;
  const HostsDoor* hosts = nullptr;  // cli/hosts_door.h
};
const std::vector<Extra>& extras();

struct MissingCommand {
  std::string_view name;
  const char* extra;  // that has it
};
const std::vector<MissingCommand>& missing_commands();

}  // namespace ocrtune
