// ocrtune man: the manual page, for man(1) and for packages.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/command_app.h"
#include "cli/command_list.h"
#include "cli/shell/manual.h"

namespace ocrtune {
namespace {

std::function<Result<int>()> declare(CLI::App& /*app*/) {
  return []() -> Result<int> {
    const CommandApp commands = make_command_app();
    std::fputs(manual_page(*commands.app).c_str(), stdout);
    return kExitOk;
  };
}

}  // namespace

Command man_command() {
  return {"man", "print the manual page", "ocrtune man | man -l -", declare};
}

}  // namespace ocrtune
