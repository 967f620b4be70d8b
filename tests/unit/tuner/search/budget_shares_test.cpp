#include "tuner/search/budget_shares.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

BudgetShares shares_of(int budget, int left, double noise, bool with_baseline) {
  BudgetShares shares{budget, left, 0};
  shares.keep_for_race(noise, with_baseline);
  return shares;
}

TEST(BudgetShares, KeepsATenthForTheRace) {
  EXPECT_EQ(shares_of(60, 60, 0.001, false).reserve, 6);
  EXPECT_EQ(shares_of(60, 60, 0.001, true).reserve, 6 + 3);
}

TEST(BudgetShares, KeepsMoreWhereNoiseIsLargeAndManyTrialsAreLeft) {
  EXPECT_EQ(shares_of(60, 60, 0.03, false).reserve, 9);   // repeats that 3 % of noise take
  EXPECT_EQ(shares_of(60, 60, 0.10, false).reserve, 12);  // 0.4 of those past 30
  EXPECT_EQ(shares_of(25, 25, 0.10, false).reserve, 2);
  EXPECT_EQ(shares_of(500, 500, 0.10, false).reserve, BudgetShares::kMaxRaceTrials);
}

TEST(BudgetShares, AFewTrialsAreNoRace) { EXPECT_EQ(shares_of(5, 5, 0.1, true).reserve, 0); }

TEST(BudgetShares, RulesAndTradesWaitForRoomBesideTheRace) {
  const BudgetShares early = shares_of(60, 60, 0.01, false);
  EXPECT_TRUE(early.hold_rules());
  EXPECT_EQ(early.max_trades(), 3);
  const BudgetShares late = shares_of(60, 10, 0.01, false);
  EXPECT_FALSE(late.hold_rules());
  EXPECT_EQ(late.max_trades(), 0);
}

TEST(BudgetShares, TwoCpusShortenTheDesign) {
  const BudgetShares shares{60, 60, 6};
  EXPECT_EQ(shares.max_design(0, 0), 8);
  EXPECT_EQ(shares.max_design(2, 1), 3);
  EXPECT_EQ(shares.max_design(64, 2), 8);
}

TEST(BudgetShares, TheLeaderRunsAgainAtEvenDistances) {
  const auto due = [](int budget, int done, const std::vector<int>& times) {
    return BudgetShares{budget, budget - done, 6}.repeat_is_due(times, 0.02);
  };
  EXPECT_FALSE(due(60, 20, {5})) << "the best still changes";
  EXPECT_TRUE(due(60, 30, {5}));
  EXPECT_FALSE(due(60, 30, {5, 22})) << "27 trials for two repeats";
  EXPECT_TRUE(due(60, 36, {5, 22}));
  EXPECT_FALSE(due(60, 40, {5, 10, 15, 20})) << "as many as its noise takes";
  EXPECT_FALSE(due(25, 20, {5})) << "a small budget has none to spare";
}

}  // namespace
}  // namespace ocrtune
