// Completion and the manual page against the command table, and the scripts in real shells.
#include "cli/completion.h"

#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/command_app.h"
#include "cli/commands.h"
#include "cli/shell/manual.h"
#include "tests/support/sample_runs.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> words_for(std::vector<std::string> typed) {
  const CommandApp commands = make_command_app();
  std::vector<std::string> words;
  for (const Candidate& each : complete(*commands.app, std::move(typed)).candidates) {
    words.push_back(each.word);
  }
  return words;
}

Completion::Paths paths_for(std::vector<std::string> typed) {
  const CommandApp commands = make_command_app();
  return complete(*commands.app, std::move(typed)).paths;
}

std::string output_of(const std::vector<std::string>& arguments, int* code = nullptr) {
  ProcessOptions options;
  options.arguments = arguments;
  options.output_bytes = 1 << 20;
  auto process = Process::start(options);
  if (!process) return process.error().what;
  const auto& exit = process->wait(60);
  if (code != nullptr) *code = exit ? exit->code : -1;
  return process->output().contents();
}

TEST(Completion, OffersEveryCommandThatIsNotHidden) {
  const auto words = words_for({""});
  for (const Command& command : command_table()) {
    EXPECT_EQ(std::count(words.begin(), words.end(), command.name), command.hidden ? 0 : 1)
        << command.name;
  }
  EXPECT_EQ(words_for({"why"}), std::vector<std::string>{"why-not"});
  EXPECT_THAT(words_for({"--ver"}), Contains("--version"));
}

TEST(Completion, OffersEveryOptionOfEveryCommand) {
  const CommandApp commands = make_command_app();
  for (const Command& command : command_table()) {
    const auto words = words_for({command.name, "--"});
    const CLI::App* sub = commands.app->get_subcommand(command.name);
    for (const CLI::Option* option : sub->get_options({})) {
      for (const std::string& name : option->get_lnames()) {
        EXPECT_THAT(words, Contains("--" + name)) << command.name;
      }
    }
  }
}

TEST(Completion, OffersValuesFromTheTablesOfList) {
  EXPECT_THAT(words_for({"tune", "--model", ""}), IsSupersetOf({"crnn", "svtrv2-small"}));
  EXPECT_THAT(words_for({"tune", "--preset", "p"}), Contains("paddleocr"));
  EXPECT_THAT(words_for({"tune", "--precision", "bf16,f"}), Contains("bf16,fp32"));
  EXPECT_THAT(words_for({"worker", "nproc=2", "prec"}), Contains("precision="));
  EXPECT_THAT(words_for({"worker", "precision", "=", "b"}), Contains("precision=bf16"));
  EXPECT_THAT(words_for({"report", "--language=z"}), Contains("--language=zh"));
  EXPECT_THAT(words_for({"list", "k"}), Contains("knobs"));
  EXPECT_THAT(words_for({"--list", "k"}), Contains("knobs")) << "a command as an option";
  EXPECT_EQ(paths_for({"report", "--html", ""}), Completion::Paths::files);
  EXPECT_EQ(paths_for({"tune", "--out", ""}), Completion::Paths::folders);
  EXPECT_EQ(paths_for({"tune", "--budget", "2m", "--", "py"}), Completion::Paths::files);
}

TEST(Completion, BadLinesOfferNothing) {
  EXPECT_THAT(words_for({"tnue", "--"}), IsEmpty());
  EXPECT_THAT(words_for({"tune", "--no-such", ""}), IsEmpty());
  EXPECT_THAT(words_for({"tune", "--modle=", ""}), IsEmpty());
  EXPECT_THAT(words_for({"show", "--db", "/proc/none/runs.sqlite", ""}), IsEmpty());
  EXPECT_THAT(words_for({"=", "=", ""}), IsEmpty());
  EXPECT_FALSE(words_for({}).empty());
}

TEST(Completion, ValueRowsNameOptionsThatExist) {
  std::set<std::string> names;
  const CommandApp commands = make_command_app();
  for (const Command& command : command_table()) {
    const CLI::App* sub = commands.app->get_subcommand(command.name);
    for (const CLI::Option* option : sub->get_options({})) {
      const std::string name =
          option->get_positional() ? option->get_name(true) : option->get_lnames()[0];
      names.insert({name, std::string(command.name) + "." + name});
    }
  }
  for (const ValueRow& row : value_table()) EXPECT_THAT(names, Contains(row.option));
}

class CompletionInShells : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("completion");
    const auto store = Store::open(folder_ + "/runs.sqlite", Store::Mode::write);
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE((*store)->begin_run(sample_run(1)).ok());
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  // Runs a shell on the script of completion with `tail` behind it.
  std::string in_shell(const std::string& shell, const std::string& tail) {
    const std::string script = output_of({OCRTUNE_BINARY, "completion", shell});
    const std::string path = folder_ + "/script";
    EXPECT_TRUE(write_file(path, script + tail).ok());
    return output_of({"/usr/bin/env", shell, path});
  }

  std::string folder_;
};

TEST_F(CompletionInShells, BashFillsTheReply) {
  const std::string stub = "compopt() { :; }\n";
  const auto reply = [&](const std::string& words) {
    return in_shell("bash", stub + "COMP_WORDS=(" + std::string(OCRTUNE_BINARY) + " " + words +
                                ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_ocrtune\n"
                                "printf '[%s]' \"${COMPREPLY[@]}\"\n");
  };
  EXPECT_EQ(reply("tune --constr"), "[--constraint]");
  EXPECT_EQ(reply("show --db " + folder_ + "/runs.sqlite 2026"), "[2026-11-21-0a3f9]");
  EXPECT_EQ(reply("report --language = z"), "[zh]") << "bash has broken the word at =";
  EXPECT_EQ(reply("tune --data " + folder_ + "/runs.sqlite-w"),
            "[" + folder_ + "/runs.sqlite-wal]");
}

TEST_F(CompletionInShells, ZshGetsWordsAndHelp) {
  if (std::system("command -v zsh >/dev/null 2>&1") != 0) GTEST_SKIP() << "no zsh on PATH";
  const std::string stub =
      "compadd() { local a=${@[-1]} d=${@[-3]}; print -l -- ${(P)a} ${(P)d}; }\n"
      "_files() { print -- FILES $@; }\ncompset() { :; }\n";
  const auto reply = [&](const std::string& words) {
    return in_shell("zsh", stub + "words=(" + std::string(OCRTUNE_BINARY) + " " + words +
                               ")\nCURRENT=$#words\n_ocrtune\n");
  };
  EXPECT_THAT(reply("tune --constr"), HasSubstr("--constraint\n--constraint  -- Keep"));
  EXPECT_THAT(reply("tune --out ''"), HasSubstr("FILES -/"));
  EXPECT_THAT(reply("show --db " + folder_ + "/runs.sqlite ''"), HasSubstr("2026-11-21-0a3f9"));
}

TEST(Manual, NamesEveryCommandAndOption) {
  const CommandApp commands = make_command_app();
  const std::string page = manual_page(*commands.app);
  const auto escaped = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) {
      text.insert(at, "\\");
    }
    return text;
  };
  for (const Command& command : command_table()) {
    const std::string part = ".SS \"ocrtune " + escaped(command.name) + "\"";
    if (command.hidden) {
      EXPECT_THAT(page, Not(HasSubstr(part)));
      continue;
    }
    EXPECT_THAT(page, HasSubstr(part));
    const CLI::App* sub = commands.app->get_subcommand(command.name);
    for (const CLI::Option* option : sub->get_options({})) {
      for (const std::string& name : option->get_lnames()) {
        EXPECT_THAT(page, HasSubstr(escaped("--" + name))) << command.name;
      }
    }
  }
  int code = -1;
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "man"}, &code), page);
  EXPECT_EQ(code, 0);
}

TEST(Manual, IsWhatManExpects) {
  if (std::system("command -v mandoc >/dev/null 2>&1") != 0) GTEST_SKIP() << "no mandoc on PATH";
  const std::string folder = *make_temporary_directory("manual");
  const CommandApp commands = make_command_app();
  ASSERT_TRUE(write_file(folder + "/ocrtune.1", manual_page(*commands.app)).ok());
  int code = -1;
  const std::string said =
      output_of({"/usr/bin/env", "mandoc", "-Tlint", "-Wwarning", folder + "/ocrtune.1"}, &code);
  for (const auto& line : split(said, '\n')) {
    // A date would change the page from build to build.
    EXPECT_TRUE(line.empty() || line.find("missing date") != std::string::npos) << line;
  }
  EXPECT_TRUE(remove_tree(folder).ok());
}

TEST(Version, NamesLibrariesAndFeatures) {
  int code = -1;
  const std::string said = output_of({OCRTUNE_BINARY, "--version"}, &code);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(said, version_text());
  EXPECT_EQ(said.substr(0, 8), "ocrtune ");
  for (const char* part :
       {"oneDNN  ", "hwloc  ", "SQLite  ", "compiler  ", "cuda-worker  ", "gpu-probe  "}) {
    EXPECT_THAT(said, HasSubstr(part));
  }
}

}  // namespace
}  // namespace ocrtune
