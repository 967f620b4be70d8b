// Which of a trial's lines are compared, and what becomes of their texts.
#include "trial/workloads/engine_infer/line_answers.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "trial/answers/same_gate.h"

namespace ocrtune {
namespace {

LineList numbered(int count) {
  LineList list;
  for (int i = 0; i < count; ++i) {
    list.names.push_back(fmt::format("{}.png", i));
    list.paths.push_back(fmt::format("/lines/{}.png", i));
    list.truths.push_back(fmt::format("{}", i));
  }
  return list;
}

LineAnswer read_as(std::string text) { return {LineAnswer::State::read, std::move(text), 1}; }

class LineAnswersTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("line_answers"); }
  void TearDown() override { (void)remove_tree(folder_); }

  // Each line in turn, `rounds` times; those below `wrong` with a letter more.
  SameResult read(int rounds, int wrong, bool learns) const {
    const LineList list = numbered(40);
    auto answers = LineAnswers::open(list, folder_ + "/reference.json", learns);
    EXPECT_TRUE(answers) << answers.error().what;
    std::vector<LineAnswer> all;
    for (int i = 0; i < rounds * 40; ++i) {
      all.push_back(
          read_as(list.truths[static_cast<std::size_t>(i % 40)] + (i % 40 < wrong ? "x" : "")));
    }
    answers->take(all, 0, 40);
    EXPECT_TRUE(answers->read_all());
    EXPECT_TRUE(answers->learn().ok());
    answers->take(all, 40, (rounds - 1) * 40);
    return answers->result();
  }

  std::string folder_;
};

TEST(SpreadLines, HoldsEveryLineOnceAndAnyBeginningIsSpread) {
  for (const int count : {1, 2, 7, 100, 1000}) {
    const LineList spread = spread_lines(numbered(count));
    EXPECT_EQ(std::set<std::string>(spread.paths.begin(), spread.paths.end()).size(),
              static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < spread.paths.size(); ++i) {
      EXPECT_EQ(spread.names[i], spread.truths[i] + ".png");
      EXPECT_EQ(spread.paths[i], "/lines/" + spread.names[i]);
    }
  }
  const LineList spread = spread_lines(numbered(1000));
  std::vector<int> first;
  for (int i = 0; i < 50; ++i)
    first.push_back(std::stoi(spread.truths[static_cast<std::size_t>(i)]));
  std::sort(first.begin(), first.end());
  for (std::size_t i = 1; i < first.size(); ++i) EXPECT_LE(first[i] - first[i - 1], 60);
}

TEST_F(LineAnswersTest, TextsOfDigitsAreTextsAndADifferenceIsJudged) {
  Trial present, alike, other;
  present.outcome = alike.outcome = other.outcome = Outcome::ok;
  present.same = read(3, 0, true);
  EXPECT_EQ(present.same.inputs, 40);
  EXPECT_EQ(present.same.differing_inputs(), 0);
  alike.same = read(3, 0, false);
  other.same = read(3, 8, false);
  EXPECT_EQ(other.same.differing_inputs(), 8);
  SameGate gate(0);
  gate.judge(present, true);
  gate.judge(alike, false);
  EXPECT_TRUE(alike.ok());
  gate.judge(other, false);
  EXPECT_EQ(other.outcome, Outcome::wrong_result);
  EXPECT_EQ(other.cause, kTextCause);
}

TEST_F(LineAnswersTest, OneLineThatIsReadOtherwiseOnceIsEnough) {
  Trial present, other;
  present.outcome = other.outcome = Outcome::ok;
  present.same = read(2, 0, true);
  other.same = read(1, 1, false);
  EXPECT_EQ(other.same.differing_inputs(), 1);
  SameGate gate(0);
  gate.judge(present, true);
  gate.judge(other, false);
  EXPECT_EQ(other.outcome, Outcome::wrong_result);
}

TEST_F(LineAnswersTest, WithTrueTextsASettingThatReadsBetterIsKept) {
  Trial present, better;
  present.outcome = better.outcome = Outcome::ok;
  present.same = read(3, 8, true);
  better.same = read(3, 0, false);
  EXPECT_EQ(better.same.differing_inputs(), 8);
  SameGate gate(0);
  gate.judge(present, true);
  gate.judge(better, false);
  EXPECT_TRUE(better.ok()) << better.reason;
}

TEST_F(LineAnswersTest, WithoutAReferenceThereIsAnError) {
  EXPECT_FALSE(LineAnswers::open(numbered(3), folder_ + "/reference.json", false));
}

}  // namespace
}  // namespace ocrtune
