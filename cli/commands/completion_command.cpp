// ocrtune completion: the scripts that shells load, and the words that these ask for.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command_app.h"
#include "cli/command_list.h"
#include "cli/completion.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

// The first line says whether paths fit too; then a word and its help on each line.
std::string candidates_text(const Completion& completion) {
  std::string text = "words\n";
  if (completion.paths == Completion::Paths::files) text = "files\n";
  if (completion.paths == Completion::Paths::folders) text = "folders\n";
  for (const Candidate& each : completion.candidates) {
    text += plain_line(each.word) + "\t" + plain_line(each.help) + "\n";
  }
  return text;
}

std::function<Result<int>()> declare(CLI::App& app) {
  struct Flags {
    std::string shell;
    std::vector<std::string> words;
  };
  auto flags = std::make_shared<Flags>();
  app.add_option("shell", flags->shell, "The script of this shell, or the candidates for words")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "candidates"}));
  app.add_option("words", flags->words,
                 "After --: the words typed after ocrtune; scripts ask this");
  return [flags]() -> Result<int> {
    if (flags->shell == "candidates") {
      const CommandApp commands = make_command_app();
      std::fputs(candidates_text(complete(*commands.app, flags->words)).c_str(), stdout);
    } else {
      std::fputs(completion_script(flags->shell).c_str(), stdout);
    }
    return kExitOk;
  };
}

}  // namespace

Command completion_command() {
  return {"completion", "print the completion script of a shell",
          "source <(ocrtune completion bash)", declare};
}

}  // namespace ocrtune
