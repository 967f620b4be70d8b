#include "trial/answers/same_judgement.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(ChanceOfDiffering, IsFishersForOneInput) {
  // 0 of 5 beside 5 of 5: one of 252 ways.
  EXPECT_NEAR(chance_of_differing({{5, 0, 5, 5}}), 1.0 / 252, 1e-9);
  EXPECT_NEAR(chance_of_differing({{3, 1, 3, 2}}), 0.5, 1e-9);
  EXPECT_EQ(chance_of_differing({{5, 0, 5, 0}}), 1);
  EXPECT_EQ(chance_of_differing({{0, 0, 5, 5}}), 1);  // nothing to compare with
}

TEST(ChanceOfDiffering, AddsInputsUp) {
  // Two inputs, each with one asking of the reference: (1/7)^2.
  EXPECT_NEAR(chance_of_differing({{1, 0, 6, 6}, {1, 0, 6, 6}, {1, 0, 6, 0}}), 1.0 / 49, 1e-9);
}

TEST(ChanceOfDiffering, ManyAnswersAreTheNormalLimit) {
  const double exact = chance_of_differing({{2000, 100, 2000, 140}});
  const double normal = chance_of_differing({{4000, 200, 4000, 280}});
  EXPECT_LT(exact, 0.01);
  EXPECT_LT(normal, exact);
  EXPECT_NEAR(chance_of_differing({{4000, 200, 4000, 200}}), 0.5, 0.03);
  EXPECT_LT(chance_of_differing({{2, 0, 1000, 1000}}), 1e-3);
}

SameResult result_of(std::int64_t answers_each, std::vector<InputDifference> differing) {
  SameResult result;
  result.not_compared = NotCompared::no;
  result.inputs = result.all_inputs = 200;
  result.answers = 200 * answers_each;
  result.characters = 200 * 20;
  result.differing = std::move(differing);
  return result;
}

TEST(JudgeSame, AFewInputsThatAlwaysDifferAreFound) {
  const SameResult present = result_of(20, {});
  const SameResult fast = result_of(20, {{4, 20, 20, 2}, {9, 20, 20, 1}});
  const auto judged = judge_same({&fast}, {&present}, 0, 10);
  EXPECT_TRUE(judged.compared);
  EXPECT_TRUE(judged.differs);
  EXPECT_FALSE(judged.allowed);
  EXPECT_EQ(judged.differing_inputs, 2);
  EXPECT_NEAR(judged.changed_share, 3.0 / 4000, 1e-12);
  EXPECT_TRUE(judge_same({&fast}, {&present}, 0.001, 10).allowed);
}

TEST(JudgeSame, WhatThePresentSettingVariesByIsNoDifference) {
  const SameResult present = result_of(20, {{4, 20, 10, 2}, {9, 20, 9, 1}});
  const SameResult other = result_of(20, {{4, 20, 11, 2}, {7, 20, 1, 1}});
  EXPECT_FALSE(judge_same({&other}, {&present}, 0, 10).differs);
  EXPECT_FALSE(judge_same({&present}, {&present}, 0, 1).differs);
}

TEST(JudgeSame, OneAnswerEachNeedsSeveralInputs) {
  const SameResult present = result_of(1, {});
  EXPECT_FALSE(judge_same({[] {
                            static const SameResult one = result_of(1, {{4, 1, 1, 2}});
                            return &one;
                          }()},
                          {&present}, 0, 1)
                   .differs);
  std::vector<InputDifference> nine;
  for (int i = 0; i < 9; ++i) nine.push_back({i, 1, 1, 1});
  const SameResult other = result_of(1, nine);
  EXPECT_TRUE(judge_same({&other}, {&present}, 0, 10).differs);
}

// A network reads a line in one way: there is no chance for one difference to be.
TEST(JudgeSame, OneDifferenceOfARepeatableReadingIsEnough) {
  SameResult present = result_of(1, {});
  SameResult other = result_of(1, {{4, 1, 1, 2}});
  present.repeatable = other.repeatable = true;
  EXPECT_TRUE(judge_same({&other}, {&present}, 0, 20).differs);
  EXPECT_FALSE(judge_same({&present}, {&present}, 0, 20).differs);
  // The present setting's trial was cut short once it had read this line.
  EXPECT_TRUE(judge_same({&other}, {}, 0, 20).differs);
  const SameResult varying = [&] {
    SameResult own = present;
    own.differing = {{9, 1, 1, 1}};
    return own;
  }();
  EXPECT_FALSE(judge_same({&other}, {&varying}, 0, 20).differs);
  other.repeatable = false;
  EXPECT_FALSE(judge_same({&other}, {&present}, 0, 20).differs);
}

TEST(JudgeSame, NothingComparedSaysWhy) {
  SameResult none;
  none.not_compared = NotCompared::all_varies;
  const auto judged = judge_same({&none}, {}, 0, 1);
  EXPECT_FALSE(judged.compared);
  EXPECT_EQ(judged.not_compared, NotCompared::all_varies);
  EXPECT_TRUE(judged.allowed);
}

TEST(JudgeSame, WithTrueTextsOnlyALossCounts) {
  SameResult present = result_of(20, {});
  present.truth_characters = 4000;
  present.truth_errors = 40;
  SameResult better = present;
  better.differing = {{4, 20, 20, 3, 3, 0}, {9, 20, 20, 2, 2, 1}};
  const auto nearer = judge_same({&better}, {&present}, 0, 1);
  EXPECT_TRUE(nearer.differs);
  EXPECT_TRUE(nearer.allowed);
  EXPECT_NEAR(nearer.reference_error_rate, 0.01, 1e-12);
  EXPECT_NEAR(nearer.error_rate, 36.0 / 4000, 1e-12);
  SameResult worse = present;
  worse.differing = {{4, 20, 20, 3, 0, 3}};
  EXPECT_FALSE(judge_same({&worse}, {&present}, 0, 1).allowed);
  EXPECT_TRUE(judge_same({&worse}, {&present}, 0.001, 1).allowed);
  worse.differing = {{4, 20, 20, 3, 0, 3}, {9, 20, 20, 2, 2, 0}};
  EXPECT_FALSE(judge_same({&worse}, {&present}, 0, 1).allowed);
}

TEST(NotCompared, NamesRoundTrip) {
  for (const NotCompared why :
       {NotCompared::no, NotCompared::not_asked, NotCompared::no_text, NotCompared::all_varies,
        NotCompared::all_alike, NotCompared::no_answers, NotCompared::no_reference}) {
    EXPECT_EQ(parse_not_compared(not_compared_name(why)), why);
  }
}

}  // namespace
}  // namespace ocrtune
