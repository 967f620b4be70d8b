// What a command line becomes: values, mistakes in one line, words behind "--".
#include "cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Values {
  std::string name = "old", where;
  int count = 3;
  std::int64_t steps = 5;
  std::uint64_t seed = 1;
  double share = 0.5;
  std::optional<std::int64_t> code;
  std::vector<std::string> inputs, command;
  std::vector<int> heights;
  std::string resume;
  bool json = false, resuming = false, named = false;
};

class FlagsTest : public testing::Test {
 protected:
  FlagsTest() {
    flags_.option("--name", values_.name, "NAME", "Name it").tell(values_.named);
    flags_.option("--count", values_.count, "N", "Count").range(1, 10).also("--number");
    flags_.option("--steps", values_.steps, "N", "Steps").range(0, 1e9);
    flags_.option("--seed", values_.seed, "N", "Seed");
    flags_.option("--share", values_.share, "SHARE", "Share").range(0, 1);
    flags_.option("--exit-code", values_.code, "N", "Code");
    flags_.option("--input", values_.inputs, "FILE", "Input");
    flags_.option("--heights", values_.heights, "PIXELS,...", "Heights").range(8, 64);
    flags_.option("--mode", mode_, "MODE", "Mode").one_of({"train", "infer"});
    flags_.option("--resume", values_.resume, "RUN", "Go on")
        .value_optional()
        .tell(values_.resuming);
    flags_.json(values_.json);
    flags_.argument("place", values_.where, "Place").require("name a place, for example: x here");
    flags_.argument("command", values_.command, "Command");
  }

  std::string mistake(const std::vector<std::string>& words) {
    const auto parsed = parse_flags(flags_, words);
    if (parsed) return "none";
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
    return parsed.error().what;
  }

  Values values_;
  std::string mode_ = "train";
  Flags flags_;
};

TEST_F(FlagsTest, ValuesOfEveryKind) {
  EXPECT_EQ(mistake({"--name", "new", "--count=7", "--steps", "9", "--seed", "18", "--share",
                     "0.25", "--exit-code", "-9", "--json", "here"}),
            "none");
  EXPECT_EQ(values_.name, "new");
  EXPECT_TRUE(values_.named);
  EXPECT_EQ(values_.count, 7);
  EXPECT_EQ(values_.steps, 9);
  EXPECT_EQ(values_.seed, 18U);
  EXPECT_EQ(values_.share, 0.25);
  EXPECT_EQ(values_.code, -9);
  EXPECT_TRUE(values_.json);
  EXPECT_EQ(values_.where, "here");
  EXPECT_THAT(values_.command, IsEmpty());
}

TEST_F(FlagsTest, AnOptionIsTakenByItsLetterAndByItsOldNames) {
  Flags flags;
  std::string out, run;
  flags.out(out, "FILE", "Write here").formerly("--output");
  flags.run(run);
  ASSERT_TRUE(parse_flags(flags, {"-o", "a"}));
  EXPECT_EQ(out, "a");
  ASSERT_TRUE(parse_flags(flags, {"--output", "b", "--run", "first"}));
  EXPECT_EQ(out, "b");
  EXPECT_EQ(run, "first");
  ASSERT_TRUE(parse_flags(flags, {"second"}));
  EXPECT_EQ(run, "second");
}

TEST_F(FlagsTest, WhatIsNotGivenStays) {
  EXPECT_EQ(mistake({"here"}), "none");
  EXPECT_EQ(values_.name, "old");
  EXPECT_FALSE(values_.named);
  EXPECT_EQ(values_.count, 3);
  EXPECT_FALSE(values_.code.has_value());
}

TEST_F(FlagsTest, ListsAndRepeatedOptions) {
  EXPECT_EQ(mistake({"--input", "a", "here", "--input", "b", "--heights", "32,48", "--heights",
                     "64", "--number", "2"}),
            "none");
  EXPECT_THAT(values_.inputs, ElementsAre("a", "b"));
  EXPECT_THAT(values_.heights, ElementsAre(32, 48, 64));
  EXPECT_EQ(values_.count, 2);
}

TEST_F(FlagsTest, TheValueOfResumeMayLack) {
  EXPECT_EQ(mistake({"here", "--resume"}), "none");
  EXPECT_TRUE(values_.resuming);
  EXPECT_EQ(values_.resume, "");
  EXPECT_EQ(mistake({"here", "--resume", "2026"}), "none");
  EXPECT_EQ(values_.resume, "2026");
  EXPECT_EQ(mistake({"here", "--resume", "2026", "--", "run", "--count"}), "none");
  EXPECT_THAT(values_.command, ElementsAre("run", "--count"));
}

// Brackets, dashes, "=" and a second "--" belong to the user's command.
TEST_F(FlagsTest, WordsBehindTwoDashesAreKeptToTheLetter) {
  EXPECT_EQ(mistake({"here", "--", "run", "[1,2]", "--count", "x", "--", "-h", "a=b", ""}), "none");
  EXPECT_THAT(values_.command, ElementsAre("run", "[1,2]", "--count", "x", "--", "-h", "a=b", ""));
  EXPECT_EQ(values_.count, 3);
}

TEST_F(FlagsTest, WordsBeforeTwoDashesAreNotOfTheCommand) {
  EXPECT_THAT(mistake({"here", "--heights", "8", "16", "--", "run"}),
              AllOf(HasSubstr("'16' stands before --"), HasSubstr("by commas")));
  EXPECT_THAT(values_.command, IsEmpty());
  EXPECT_EQ(mistake({"here", "run", "16"}), "none");
  Flags runs;
  std::vector<std::string> names;
  runs.argument("runs", names, "Runs");
  EXPECT_TRUE(parse_flags(runs, {"a", "b", "--", "c"}).ok());
}

TEST_F(FlagsTest, HelpWinsOverMistakesBeforeTheCommand) {
  const auto parsed = parse_flags(flags_, {"--help"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, Parsed::help);
}

TEST_F(FlagsTest, MistakesNameTheFlagAndTheWayOut) {
  EXPECT_THAT(mistake({}), AllOf(HasSubstr("place"), HasSubstr("example: x here")));
  EXPECT_EQ(mistake({"here", "--cuont", "1"}), "no option --cuont; did you mean --count?");
  EXPECT_EQ(mistake({"here", "--Count=1"}), "no option --Count; did you mean --count?");
  EXPECT_EQ(mistake({"here", "--exit"}), "no option --exit; did you mean --exit-code?");
  EXPECT_EQ(mistake({"here", "--count-of-all"}), "no option --count-of-all; did you mean --count?");
  EXPECT_THAT(mistake({"here", "python", "--epochs"}),
              AllOf(HasSubstr("no option --epochs; "), EndsWith(" after --")));
  EXPECT_EQ(mistake({"-x", "here"}), "no option -x");
  EXPECT_EQ(mistake({"here", "--count"}), "--count needs a value: N");
  EXPECT_EQ(mistake({"here", "--name", "--json"}),
            "--name needs a value: NAME (--json is an option of its own)");
  EXPECT_EQ(mistake({"here", "--count", "11"}), "--count '11': needs a whole number from 1 to 10");
  EXPECT_EQ(mistake({"here", "--count", "2.5"}),
            "--count '2.5': needs a whole number from 1 to 10");
  EXPECT_THAT(mistake({"here", "--seed", "-1"}),
              AllOf(HasSubstr("--seed '-1': "), HasSubstr("at least 0")));
  EXPECT_EQ(mistake({"here", "--share", "nan"}), "--share 'nan': needs a number from 0 to 1");
  EXPECT_EQ(mistake({"here", "--steps", "2000000000"}),
            "--steps '2000000000': needs a whole number from 0 to 1000000000");
  EXPECT_EQ(mistake({"here", "--heights", "32,,48"}),
            "--heights '32,,48': an empty value between commas");
  EXPECT_EQ(mistake({"here", "--mode", "trian"}), "--mode 'trian': did you mean train?");
  EXPECT_EQ(mistake({"here", "--mode", "x"}), "--mode 'x': needs one of train, infer");
  EXPECT_EQ(mistake({"here", "--json=7"}), "--json takes no value");
  EXPECT_EQ(mistake({"here", "--count", "1", "--count", "2"}),
            "--count is given 2 times and takes one value");
}

}  // namespace
}  // namespace ocrtune
