#include "cli/command_app.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {

CommandApp::CommandApp() = default;
CommandApp::CommandApp(CommandApp&&) noexcept = default;
CommandApp::~CommandApp() = default;

CommandApp make_command_app() {
  CommandApp made;
  made.app = std::make_unique<CLI::App>(
      "Finds launch settings for OCR training and inference that are safe and fast here.",
      "ocrtune");
  made.app->require_subcommand(0, 1);
  made.app->set_version_flag("--version", program_version(),
                             "Versions of ocrtune and its libraries, and what this build can do");
  for (const Command& command : command_table()) {
    CLI::App* sub = made.app->add_subcommand(command.name, command.help);
    sub->footer(std::string("Example:\n  ") + command.example);
    if (command.hidden) sub->group("");
    made.runs[command.name] = command.declare(*sub);
  }
  return made;
}

std::string version_text() {
  std::string text;
  for (const auto& [part, version] : program_versions()) {
    text +=
        text.empty() ? part + " " + version + "\n" : fmt::format("  {:<14} {}\n", part, version);
  }
  text += "This build:\n";
  for (const Feature& feature : program_features()) {
    text +=
        fmt::format("  {:<14} {:<4} {}\n", feature.name, feature.here ? "yes" : "no", feature.help);
  }
  return text;
}

}  // namespace ocrtune
