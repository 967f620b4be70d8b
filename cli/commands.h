// The commands of ocrtune: one row each, one file each (cli/<name>_command.cpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace ocrtune {

// Exit codes. Wrong use is 2; environment error is 3.
inline constexpr int kExitOk = 0;
inline constexpr int kExitNegative = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;
inline constexpr int kExitInterrupted = 130;

struct Command {
  const char* name;
  const char* help;     // one line
  const char* example;  // shown under --help
  // Declares the flags on `app` and returns what to run once they are parsed. The returned function
  // gives the exit code, or an Error that main prints as one line and maps to an exit code.
  std::function<std::function<Result<int>()>(CLI::App& app)> declare;
  bool hidden = false;  // started by ocrtune itself: not in --help, completion and the manual
};

const std::vector<Command>& command_table();  // cli/command_table.cpp
int run_command_line(int argc, char** argv);
int exit_code(const Error& error);

}  // namespace ocrtune
