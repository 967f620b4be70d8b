// The help of every command, to the letter, and the rules that all of it keeps.
#include "cli/help.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/extras.h"
#include "cli/list_topics.h"
#include "cli/manual.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Flags flags_of(const Command& command) {
  Flags flags;
  const CommandRun unused = command.declare(flags);
  return flags;
}

// OCRTUNE_WRITE_GOLDEN=1 in the environment writes the file anew; git shows what changed.
TEST(Help, OfAllCommandsIsTheStoredText) {
  if (!missing_commands().empty()) GTEST_SKIP() << "a build without all extras";
  std::string text = program_help(100);
  for (const Command& command : command_table()) {
    text +=
        "\n=== " + std::string(command.name) + "\n" + command_help(command, flags_of(command), 100);
  }
  const std::string path = OCRTUNE_SOURCE_DIR + "/tests/fixtures/help.txt";
  if (std::getenv("OCRTUNE_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file(path, text).ok());
  }
  const auto golden = read_file(path);
  ASSERT_TRUE(golden.ok());
  const auto want = split(*golden, '\n'), got = split(text, '\n');
  for (std::size_t i = 0; i < std::min(want.size(), got.size()); ++i) {
    ASSERT_EQ(got[i], want[i]) << "line " << i + 1 << " of " << path;
  }
  EXPECT_EQ(got.size(), want.size());
}

TEST(Help, SentencesHaveOneForm) {
  for (const Command& command : command_table()) {
    EXPECT_TRUE(std::isupper(command.summary[0])) << command.summary;
    const Flags flags = flags_of(command);
    for (const Flag& flag : flags.rows()) {
      const std::string where = std::string(command.name) + " " + flag.name + ": " + flag.help;
      ASSERT_FALSE(flag.help.empty()) << where;
      EXPECT_FALSE(std::islower(flag.help[0])) << where;
      EXPECT_TRUE(flag.help.back() != '.' || ends_with(flag.help, "...")) << where;
    }
  }
}

// The commands that --help shows, with all of their options; the others stay English.
TEST(Help, IsChineseForTheCommandsThatItShows) {
  const std::string program = program_help(100, false, Language::chinese);
  const auto expect_chinese = [](const std::string& english) {
    if (!english.empty()) {
      EXPECT_NE(chinese_of(english), english);
    }
  };
  for (const Command& command : command_table()) {
    if (program.find("\n  " + std::string(command.name) + " ") == std::string::npos) continue;
    expect_chinese(command.summary);
    EXPECT_THAT(program, Not(HasSubstr(command.summary)));
    expect_chinese(command.notes);
    const Flags flags = flags_of(command);
    for (const Flag& flag : flags.rows()) {
      if (flag.unseen || starts_with(flag.help, "NCCL_")) continue;
      expect_chinese(flag.help);
      expect_chinese(flag.heading);
      if (flag.fallback.find(' ') != std::string::npos) expect_chinese(flag.fallback);
    }
  }
  const std::string narrow = program_help(40, false, Language::chinese);
  for (const std::string& line : split(narrow, '\n')) {
    if (starts_with(line, "  -V")) continue;
    EXPECT_LE(display_width(line), 40) << line;
  }
}

TEST(Help, EveryJsonDocumentHasASectionInTheSchema) {
  std::string headings;
  for (const std::string& line :
       split(read_file(OCRTUNE_SOURCE_DIR + "/docs/schema.md").value_or(""), '\n')) {
    if (starts_with(line, "## ")) headings += line.substr(2) + ",";
  }
  for (const Command& command : command_table()) {
    const Flags flags = flags_of(command);
    for (const Flag& flag : flags.rows()) {
      if (flag.name != "--json") continue;
      EXPECT_THAT(headings, HasSubstr(" " + std::string(command.name) + " --json"));
    }
  }
}

TEST(Help, WrapsOnANarrowTerminal) {
  for (const Command& command : command_table()) {
    const std::string text = command_help(command, flags_of(command), 72);
    for (const std::string& line : split(text.substr(0, text.find("\nExamples:")), '\n')) {
      EXPECT_LE(line.size(), 72U) << line;
    }
  }
}

TEST(Help, ShowsEightCommandsAndFourteenOptionsOfTune) {
  std::set<std::string> of_extras;
  for (const Extra& extra : extras()) {
    for (const ExtraCommand& each : extra.commands) of_extras.insert(each.row.name);
  }
  int visible = 0;
  for (const Command& command : command_table()) {
    const std::string_view section = command.section;
    const bool group = section == kEngineGroup || section == kHostsGroup;
    const bool extra = of_extras.contains(command.name);
    if (!command.hidden() && !group && !extra && section != kRest) ++visible;
  }
  EXPECT_EQ(visible, 8) << "of the kernel";
  const Command& tune = *find_command("tune");
  const Flags flags = flags_of(tune);
  EXPECT_EQ(flags.shown_first().size(), 14U);
  const std::string brief = command_help(tune, flags, 80, false);
  const std::string all = command_help(tune, flags, 80, true);
  for (const std::string& name : flags.shown_first()) EXPECT_THAT(brief, HasSubstr(name + " "));
  EXPECT_THAT(brief, Not(HasSubstr("--soak")));
  EXPECT_THAT(all, HasSubstr("--soak"));
}

TEST(Help, NamesOfOptionsThatAreShownFirstExist) {
  for (const Command& command : command_table()) {
    const Flags flags = flags_of(command);
    for (const std::string& name : flags.shown_first()) {
      EXPECT_TRUE(std::any_of(flags.rows().begin(), flags.rows().end(),
                              [&](const Flag& flag) { return flag.name == name; }))
          << command.name << " " << name;
    }
  }
}

TEST(Help, TopicsOfValuesExist) {
  std::set<std::string> topics = {"topics"};
  for (const Topic& topic : list_topics()) topics.insert(topic.name);
  for (const Command& command : command_table()) {
    const Flags flags = flags_of(command);
    for (const Flag& flag : flags.rows()) {
      if (flag.topic.empty()) continue;
      EXPECT_EQ(topics.count(flag.topic), 1U) << flag.topic;
    }
  }
}

TEST(Completion, ScriptsNameEveryCommandAndOption) {
  struct Shell {
    const char *name, *before, *after;  // what stands around a command that is offered
  };
  for (const Shell& shell : {Shell{"bash", " ", " "}, {"zsh", "'", ":"}, {"fish", "-a ", " "}}) {
    const std::string script = completion_script(shell.name);
    for (const Command& command : command_table()) {
      if (command.hidden()) {
        EXPECT_THAT(script, Not(HasSubstr(shell.before + std::string(command.name) + shell.after)));
        continue;
      }
      EXPECT_THAT(script, HasSubstr(command.name));
      const Flags flags = flags_of(command);
      for (const Flag& flag : flags.rows()) {
        if (flag.positional) continue;
        const bool fish = shell.name == std::string("fish");
        EXPECT_THAT(script, HasSubstr(fish ? "-l " + flag.name.substr(2) : flag.name))
            << shell.name;
      }
    }
  }
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

TEST(Manual, NamesEveryCommandAndOption) {
  const std::string page = manual_page();
  for (const Command& command : command_table()) {
    const std::string part = ".SS \"ocrtune " + escaped(command.name) + "\"";
    if (command.hidden()) {
      EXPECT_THAT(page, Not(HasSubstr(part)));
      continue;
    }
    EXPECT_THAT(page, HasSubstr(part));
    const Flags flags = flags_of(command);
    for (const Flag& flag : flags.rows()) {
      if (flag.positional || flag.unseen) continue;
      const std::string letter = flag.letter.empty() ? "" : flag.letter + ", ";
      EXPECT_THAT(page, HasSubstr("\\fB" + escaped(letter + flag.name)));
    }
  }
}

}  // namespace
}  // namespace ocrtune
