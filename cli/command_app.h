// The parser made from the command table: what parsing, completion and the manual page share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace ocrtune {

struct CommandApp {
  std::unique_ptr<CLI::App> app;
  std::map<std::string, std::function<Result<int>()>> runs;  // by command, once parsed

  CommandApp();
  CommandApp(CommandApp&&) noexcept;
  ~CommandApp();
};

// Every command of the table, the hidden ones without a place in the help.
CommandApp make_command_app();

std::string version_text();  // what `ocrtune --version` prints

}  // namespace ocrtune
