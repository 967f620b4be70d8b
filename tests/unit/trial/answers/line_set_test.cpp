// A command's lines as a set: what differs by itself, what lacks, what is new.
#include "trial/answers/line_set.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using Lines = std::vector<std::string>;

CommandAnswers ended(const std::vector<Lines>& passes) {
  CommandAnswers answers;
  answers.passes = passes;
  answers.passes.emplace_back();
  answers.runs_ended = static_cast<std::int64_t>(passes.size());
  return answers;
}

CommandAnswers open(const Lines& lines) {
  CommandAnswers answers;
  answers.passes = {lines};
  return answers;
}

const Lines kInvoice = {"Invoice total 1,200", "due in 30 days", "Berlin"};

TEST(LineSetTest, TheSameLinesInAnyOrderAreTheSameText) {
  LineSet set;
  set.learn(ended({kInvoice, kInvoice}));
  const SameResult same = set.compare(ended({{"Berlin", "due in 30 days", "Invoice total 1,200"}}));
  EXPECT_TRUE(same.compared());
  EXPECT_EQ(same.inputs, 3);
  EXPECT_EQ(same.differing_inputs(), 0);
}

TEST(LineSetTest, AChangedLineStandsBesideTheOneThatLacks) {
  LineSet set;
  set.learn(ended({kInvoice, kInvoice}));
  const SameResult same = set.compare(ended({{"lnvoice total l,2OO", "due in 30 days", "Berlin"}}));
  ASSERT_EQ(same.differing_inputs(), 1);
  EXPECT_EQ(same.differing[0].characters, 4);
  EXPECT_EQ(same.examples[0].expected, "Invoice total 1,200");
  EXPECT_EQ(same.examples[0].read, "lnvoice total l,2OO");
}

TEST(LineSetTest, LinesThatAWholeRunLacksAreLost) {
  LineSet set;
  set.learn(ended({kInvoice, kInvoice}));
  EXPECT_EQ(set.compare(ended({{"Berlin"}})).differing_inputs(), 2);
  // Of a run that was ended by the trial's end it is not known what it had still printed.
  EXPECT_EQ(set.compare(open({"Berlin"})).differing_inputs(), 0);
}

TEST(LineSetTest, TimesAreLeftOutByThemselves) {
  LineSet set;
  set.learn(ended({{"total 1,200", "took 0.31 s"}, {"total 1,200", "took 0.29 s"}}));
  const SameResult same = set.compare(ended({{"total 1,200", "took 0.11 s"}}));
  EXPECT_EQ(same.inputs, 1);
  EXPECT_EQ(same.differing_inputs(), 0);
  EXPECT_EQ(set.compare(ended({{"total 1,280", "took 0.11 s"}})).differing_inputs(), 1);
}

TEST(LineSetTest, WithoutAWholeRunNothingIsCompared) {
  LineSet set;
  set.learn(open(kInvoice));
  EXPECT_EQ(set.compare(ended({kInvoice})).not_compared, NotCompared::no_reference);
}

TEST(LineSetTest, ARunThatPrintedNoneOfTheLinesIsNoLackOfRuns) {
  LineSet set;
  CommandAnswers silent;
  silent.runs_ended = 1;
  silent.passes.resize(2);
  set.learn(silent);
  EXPECT_EQ(set.compare(silent).not_compared, NotCompared::no_answers);
}

TEST(LineSetTest, AfterOneRunLinesWithDigitsWait) {
  LineSet set;
  set.learn(ended({kInvoice}));
  EXPECT_EQ(set.passes(), 1U);
  EXPECT_EQ(set.compare(ended({kInvoice})).inputs, 1);
}

}  // namespace
}  // namespace ocrtune
