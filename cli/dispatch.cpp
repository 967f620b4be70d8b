// Parse, dispatch, and print an error as one line.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/interrupt.h"
#include "base/text.h"
#include "cli/command_app.h"
#include "cli/commands.h"

namespace ocrtune {
namespace {

// `ocrtune --probe` is the same as `ocrtune probe`, for every command's name.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (!arguments.empty() && starts_with(arguments[0], "--")) {
    const std::string name = arguments[0].substr(2);
    for (const Command& command : command_table()) {
      if (name == command.name) arguments[0] = name;
    }
  }
  return arguments;
}

int usage_error(const std::string& what) {
  std::fprintf(stderr, "ocrtune: %s\n", what.c_str());
  return kExitUsage;
}

// CLI11 says "The following argument was not expected: x"; one line, ours, with the way out.
int explain_parse_error(const CLI::App& app, const std::string& first, const std::string& message) {
  std::vector<std::string> names;
  for (const Command& command : command_table()) {
    if (!command.hidden) names.emplace_back(command.name);
  }
  if (app.get_subcommands().empty() && !first.empty() && first[0] != '-') {
    const std::string near = nearest_name(first, names);
    return usage_error(
        "no command '" + first + "'" +
        (near.empty() ? "; ocrtune --help lists them" : "; did you mean '" + near + "'?"));
  }
  std::string line = message.substr(0, message.find('\n'));
  const auto chosen = app.get_subcommands();
  const std::string help =
      chosen.empty() ? "ocrtune --help" : "ocrtune " + chosen[0]->get_name() + " --help";
  return usage_error(line + " (see " + help + ")");
}

}  // namespace

int exit_code(const Error& error) {
  switch (error.kind) {
    case ErrorKind::usage:
      return kExitUsage;
    case ErrorKind::interrupted:
      return kExitInterrupted;
    default:
      return kExitEnvironment;
  }
}

int run_command_line(int argc, char** argv) {
  catch_interrupts();
  CommandApp commands = make_command_app();
  CLI::App& app = *commands.app;
  std::vector<std::string> arguments = arguments_of(argc, argv);
  const std::string first = arguments.empty() ? "" : arguments[0];
  if (arguments.empty()) {
    std::fputs(app.help().c_str(), stdout);
    return kExitOk;
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    std::fputs((chosen.empty() ? app.help() : chosen[0]->help()).c_str(), stdout);
    return kExitOk;
  } catch (const CLI::CallForVersion&) {
    std::fputs(version_text().c_str(), stdout);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return explain_parse_error(app, first, error.what());
  }
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return usage_error("no command given (see ocrtune --help)");
  const Result<int> result = commands.runs.at(chosen[0]->get_name())();
  if (result) return *result;
  std::fprintf(stderr, "ocrtune %s: %s\n", chosen[0]->get_name().c_str(),
               result.error().what.c_str());
  return exit_code(result.error());
}

}  // namespace ocrtune
