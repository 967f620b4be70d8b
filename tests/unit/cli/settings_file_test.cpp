// ocrtune.toml: flags as keys, below what the command line says.
#include "cli/settings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SettingsFile : public testing::Test {
 protected:
  SettingsFile() {
    flags_.option("--budget", budget_, "DURATION", "Budget");
    flags_.option("--memory-margin", margin_, "SHARE", "Margin");
    flags_.option("--nproc", nproc_, "N,...", "Processes");
    flags_.option("--env", environment_, "NAME", "Variables");
    flags_.option("--count", count_, "N", "Count").range(1, 10);
    flags_.option("--resume", resume_, "RUN", "Go on").value_optional().tell(resuming_);
    flags_.toggle("--no-wait", no_wait_, "Do not wait");
    flags_.argument("command", command_, "Command");
    flags_.take_settings(
        {[this](const Flags& flags) { return parse_settings(flags, text_, "a.toml"); },
         {"--resume"},
         &used_});
  }

  std::string mistake(const std::string& text, const std::vector<std::string>& words = {}) {
    text_ = text;
    const auto parsed = parse_flags(flags_, words);
    return parsed ? "none" : parsed.error().what;
  }

  std::string text_, budget_ = "5m", nproc_, resume_;
  double margin_ = 0.5;
  int count_ = 1;
  std::vector<std::string> environment_, command_;
  std::vector<FileSetting> used_;
  bool resuming_ = false, no_wait_ = false;
  Flags flags_;
};

TEST_F(SettingsFile, GivesEveryKindOfFlag) {
  EXPECT_EQ(mistake("# a comment\nbudget = \"10m\"\nmemory-margin = 0.25\nnproc = [1, 2]\n"
                    "env = [\"A=1,2\", \"B\"]\nno-wait = true\n"
                    "command = [\"python3\", \"a b.py\", \"-c\"]\n"),
            "none");
  EXPECT_EQ(budget_, "10m");
  EXPECT_EQ(margin_, 0.25);
  EXPECT_EQ(nproc_, "1,2");
  EXPECT_THAT(environment_, ElementsAre("A=1,2", "B"));
  EXPECT_TRUE(no_wait_);
  EXPECT_THAT(command_, ElementsAre("python3", "a b.py", "-c"));
}

TEST_F(SettingsFile, CommandMayBeOneLine) {
  EXPECT_EQ(mistake("command = \"sh -c 'echo {batch}'\""), "none");
  EXPECT_THAT(command_, ElementsAre("sh", "-c", "echo {batch}"));
}

TEST_F(SettingsFile, CommandLineWins) {
  EXPECT_EQ(mistake("budget = \"10m\"\ncount = 3", {"--budget", "1m"}), "none");
  EXPECT_EQ(budget_, "1m");
  EXPECT_EQ(count_, 3);
  ASSERT_EQ(used_.size(), 1U);
  EXPECT_EQ(used_[0].place, "a.toml:2: count: ");
}

TEST_F(SettingsFile, IsNotReadWhereTheCommandLineSaysWhatToRun) {
  EXPECT_EQ(mistake("not = TOML", {"--resume"}), "none");
  EXPECT_EQ(mistake("not = TOML", {"--", "my", "command"}), "none");
  EXPECT_THAT(used_, IsEmpty());
}

TEST_F(SettingsFile, MistakesNameFileLineAndKey) {
  EXPECT_THAT(mistake("\nbudgte = \"1m\""),
              AllOf(HasSubstr("a.toml:2: budgte: "), HasSubstr(" budget?")));
  EXPECT_THAT(mistake("memory_margin = 0.1"),
              AllOf(HasSubstr("a.toml:1: memory_margin: "), HasSubstr(" memory-margin?")));
  EXPECT_THAT(mistake("[tune]\nbudget = \"1m\""),
              AllOf(HasSubstr("a.toml:1: tune: "), HasSubstr("ocrtune tune --help")));
  EXPECT_EQ(mistake("resume = \"last\"").substr(0, 30), "a.toml:1: resume: no such key;");
  EXPECT_EQ(mistake("count = 11"),
            "a.toml:1: count: --count '11': needs a whole number from 1 to 10");
  EXPECT_EQ(mistake("no-wait = 1"), "a.toml:1: no-wait: needs true or false");
  EXPECT_THAT(mistake("budget = 2026-01-01"),
              HasSubstr("a.toml:1: budget: needs a text in quotes"));
  EXPECT_THAT(mistake("nproc = []"), HasSubstr("a.toml:1: nproc: an empty list"));
  EXPECT_EQ(mistake("budget = \"1m\"\ncount = ").substr(0, 20), "a.toml:2: not TOML: ");
  EXPECT_EQ(mistake("budget = \"1m\"\n[\n").substr(0, 8), "a.toml:2");
}

TEST_F(SettingsFile, IsToldAsIfTyped) {
  EXPECT_EQ(mistake("budget = \"10m\"\nnproc = [1, 2]\nno-wait = true\ncommand = [\"a\", \"b\"]",
                    {"--count", "2"}),
            "none");
  EXPECT_THAT(words_with_settings({"ocrtune", "tune", "--count", "2"}, used_),
              ElementsAre("ocrtune", "tune", "--budget", "10m", "--no-wait", "--nproc", "1,2",
                          "--count", "2", "--", "a", "b"));
}

}  // namespace
}  // namespace ocrtune
