// What look_around() finds without any program's help, and one next step by the kind of project.
#include "cli/here.h"

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/settings_file.h"
#include "cli/shell/terminal.h"
#include "reports/catalogue/plain_text.h"
#include "tuner/project/project.h"

namespace ocrtune {
namespace {

std::string next_steps(const Project& project) {
  if (path_exists(kSettingsFile)) {
    return terminal_text("{} is here. Next: ocrtune doctor, then ocrtune tune", {kSettingsFile});
  }
  switch (project.kind) {
    case Project::Kind::nothing:
      return terminal_text("Next: go to the folder of your training or OCR script, or") + "\n" +
             terminal_text(
                 "  ocrtune tune -- CMD     # any command; how it tells its speed is found");
    case Project::Kind::script: {
      std::string command = "python3 " + shell_quote(project.script);
      for (const std::string& word : tuned_flags(project)) command += " " + word;
      if (!project.serves) return terminal_text("Next: ocrtune tune -- {}", {command});
      return terminal_text("Next: ocrtune tune --mode infer --url {} -- {}",
                           {server_url(project), command});
    }
    case Project::Kind::paddleocr:
    case Project::Kind::openocr:
    case Project::Kind::lines:
      break;
  }
  return terminal_text(
      "Next: ocrtune init (writes ocrtune.toml), ocrtune doctor (one step), ocrtune tune");
}

}  // namespace

std::string here_text() {
  // No interpreter is started for a first look.
  const auto none = [](const std::string& program) -> Result<Python> {
    return Error{ErrorKind::missing, program};
  };
  const auto project = look_around(".", process_environment(), none);
  if (!project) return "";
  if (project->found.empty())
    return terminal_text("Nothing of yours that could be tuned is here.") + "\n" +
           next_steps(*project) + "\n";
  std::string text = terminal_text("Found here:") + "\n";
  for (const std::string& line : project->found) {
    text += "  " + plain_line(terminal_text(line)) + "\n";
  }
  return text + next_steps(*project) + "\n";
}

}  // namespace ocrtune
