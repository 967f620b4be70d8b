// A command's settings beside the present one: which are turned away for their text.
#include "trial/answers/command_same.h"

#include <gtest/gtest.h>

#include "trial/answers/answer_fields.h"

namespace ocrtune {
namespace {

CommandAnswers named(const std::vector<std::pair<std::string, std::string>>& answers, int times,
                     int runs_ended = 1) {
  CommandAnswers all;
  for (const auto& [input, text] : answers) {
    all.inputs.push_back(input);
    all.bodies.emplace_back(static_cast<std::size_t>(times), R"({"text":[")" + text + "\"]}");
  }
  all.runs_ended = runs_ended;
  return all;
}

Trial good() {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = 10;
  return trial;
}

class CommandSameTest : public ::testing::Test {
 protected:
  Trial judge(const CommandAnswers& answers, bool present) {
    Trial trial = good();
    trial.knobs.batch = ++batch_;  // settings of their own
    EXPECT_TRUE(same_.judge(trial, answers, present));
    return trial;
  }
  Trial judge_again(const CommandAnswers& answers) {
    Trial trial = good();
    EXPECT_TRUE(same_.judge(trial, answers, false));
    return trial;
  }
  CommandSame same_{AnswerPlaces(), "", 0};
  int batch_ = 0;
};

TEST_F(CommandSameTest, AnotherTextTurnsASettingAwayWithItsRate) {
  EXPECT_TRUE(same_.needs_present());
  EXPECT_TRUE(judge(named({{"a", "1,200"}, {"b", "two"}}, 4), true).ok());
  EXPECT_FALSE(same_.needs_present());
  EXPECT_TRUE(judge(named({{"a", "1,200"}, {"b", "two"}}, 4), false).ok());
  const Trial other = judge(named({{"a", "l,2OO"}, {"b", "two"}}, 4), false);
  EXPECT_EQ(other.outcome, Outcome::wrong_result);
  EXPECT_EQ(other.cause, kTextCause);
  EXPECT_EQ(other.samples_per_second, 10);
  EXPECT_EQ(other.same.differing_inputs(), 1);
}

TEST_F(CommandSameTest, AnInputThatIsLeftOutDiffers) {
  EXPECT_TRUE(judge(named({{"a", "1,200"}, {"b", "two"}}, 8), true).ok());
  EXPECT_EQ(judge(named({{"a", "1,200"}}, 8), false).same.differing_inputs(), 1);
  EXPECT_EQ(judge(named({{"a", "1,200"}}, 8, 0), false).same.differing_inputs(), 0);
}

// A faster setting reaches pages that the present one was stopped before.
TEST_F(CommandSameTest, AnInputThatThePresentSettingDidNotReachSaysNothing) {
  const CommandAnswers further = named({{"a", "1,200"}, {"b", "two"}, {"c", "three"}}, 8, 0);
  (void)judge(named({{"a", "1,200"}, {"b", "two"}}, 8, 0), true);
  EXPECT_EQ(judge(further, false).same.differing_inputs(), 0);
  (void)judge(named({{"a", "1,200"}, {"b", "two"}}, 8), true);
  EXPECT_EQ(judge(further, false).same.differing_inputs(), 1) << "a whole run holds no such page";
}

// Three pages are read before a speed is measured, and their texts are there all the same.
TEST_F(CommandSameTest, WhatCameToItsEndBeforeItsSpeedWasMeasuredHasReadAText) {
  (void)judge(named({{"a", "1,200"}, {"b", "two"}}, 4), true);
  const auto ended = [&](const char* cause, const char* text) {
    Trial trial;
    trial.outcome = Outcome::crashed;
    trial.cause = cause;
    trial.knobs.batch = ++batch_;
    EXPECT_TRUE(same_.judge(trial, named({{"a", text}, {"b", "two"}}, 4), false));
    return trial;
  };
  EXPECT_EQ(ended("ended", "l,2OO").cause, kTextCause);
  EXPECT_EQ(ended("ended", "1,200").cause, "ended");
  EXPECT_EQ(ended("exit", "l,2OO").cause, "exit") << "it broke off, maybe within a text";
}

// One file of ten lines, written by each run.
CommandAnswers page(const std::string& third, const std::string& last) {
  CommandAnswers all;
  all.inputs = {"text"};
  std::vector<std::string> lines = {"Invoice", "No. 17", third, "pens",  "5",
                                    "paper",   "12",     "ink", "Total", last};
  all.bodies = {{text_answer(lines)}};
  all.runs_ended = 1;
  return all;
}

TEST_F(CommandSameTest, LinesOfOneFileThatChangeTogetherAndStaySoAreManyWitnesses) {
  (void)judge(page("26 November", "1,200"), true);
  (void)judge(page("26 November", "1,200"), true);
  EXPECT_TRUE(judge_again(page("26 Novemher", "l,200")).ok()) << "once may be chance";
  EXPECT_EQ(judge_again(page("26 Novemher", "l,200")).cause, kTextCause);
}

TEST_F(CommandSameTest, LinesOfOneFileThatChangeOtherwiseEachTimeAreChance) {
  (void)judge(page("26 November", "1,200"), true);
  (void)judge(page("26 November", "1,200"), true);
  EXPECT_TRUE(judge_again(page("26 Novemher", "l,200")).ok());
  EXPECT_TRUE(judge_again(page("26 Novenber", "I,200")).ok());
}

TEST_F(CommandSameTest, OneAskingSaysNothingOfWhatVaries) {
  (void)judge(named({{"a", "1,200"}}, 1), true);
  EXPECT_TRUE(same_.needs_present());
  (void)judge(named({{"a", "1,200"}}, 1), true);
  EXPECT_FALSE(same_.needs_present());
}

}  // namespace
}  // namespace ocrtune
