#include "core/data/batch_plan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(Permuted, IsAPermutationOfEverySize) {
  for (std::int64_t size : {1, 2, 3, 4, 5, 7, 16, 17, 64, 100, 1000, 4097}) {
    for (std::uint64_t key : {0ULL, 1ULL, 0xDEADBEEFULL}) {
      std::vector<bool> hit(static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t at = permuted(i, size, key);
        ASSERT_GE(at, 0);
        ASSERT_LT(at, size);
        ASSERT_FALSE(hit[static_cast<std::size_t>(at)]) << size << " " << key;
        hit[static_cast<std::size_t>(at)] = true;
      }
    }
  }
}

// Over many keys each place gets each value about equally often (chi-square, 20 x 20 cells).
TEST(Permuted, SpreadsEvenly) {
  constexpr int kSize = 20, kKeys = 4000;
  std::vector<int> cells(kSize * kSize);
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    for (int i = 0; i < kSize; ++i) {
      ++cells[static_cast<std::size_t>(i * kSize + permuted(i, kSize, key))];
    }
  }
  double chi = 0;
  const double want = static_cast<double>(kKeys) / kSize;
  for (int count : cells) chi += (count - want) * (count - want) / want;
  // 361 degrees of freedom: mean 361, deviation 26.9; six deviations.
  EXPECT_LT(chi, 361 + 6 * 26.9);
  EXPECT_GT(chi, 361 - 6 * 26.9);
}

std::vector<std::int64_t> epoch_lines(const BatchPlan& plan, std::int64_t epoch) {
  std::vector<std::int64_t> lines;
  for (std::int64_t b = 0; b < plan.batches_per_epoch(); ++b) {
    for (int i = 0; i < plan.batch; ++i) {
      lines.push_back(plan.line(epoch * plan.batches_per_epoch() + b, i, 0));
    }
  }
  return lines;
}

TEST(BatchPlan, RanksShareAnEpochEqually) {
  std::set<std::int64_t> seen;
  for (int rank = 0; rank < 3; ++rank) {
    const BatchPlan plan{100, 8, rank, 3, 5};
    EXPECT_EQ(plan.batches_per_epoch(), 4);
    for (std::int64_t line : epoch_lines(plan, 0)) EXPECT_TRUE(seen.insert(line).second);
  }
  EXPECT_EQ(seen.size(), 96U);
}

TEST(BatchPlan, RanksTogetherSeeTheBatchOfOneRank) {
  const BatchPlan one{1000, 12, 0, 1, 9};
  for (std::int64_t sequence : {0, 1, 85}) {  // 83 batches an epoch
    std::vector<std::int64_t> together, alone;
    for (int rank = 0; rank < 3; ++rank) {
      const BatchPlan third{1000, 4, rank, 3, 9};
      for (int i = 0; i < 4; ++i) together.push_back(third.line(sequence, i, 0));
    }
    for (int i = 0; i < 12; ++i) alone.push_back(one.line(sequence, i, 0));
    EXPECT_EQ(together, alone);
  }
}

TEST(BatchPlan, OrderChangesWithEpochAndSeed) {
  const BatchPlan plan{64, 8, 0, 1, 1}, other{64, 8, 0, 1, 2};
  EXPECT_NE(epoch_lines(plan, 0), epoch_lines(plan, 1));
  EXPECT_NE(epoch_lines(plan, 0), epoch_lines(other, 0));
  EXPECT_EQ(epoch_lines(plan, 3), epoch_lines(plan, 3));
}

TEST(BatchPlan, ReplacementsVary) {
  const BatchPlan plan{1000, 8, 0, 1, 1};
  std::set<std::int64_t> tried;
  for (int attempt = 0; attempt < 50; ++attempt) {
    const std::int64_t line = plan.line(3, 2, attempt);
    EXPECT_GE(line, 0);
    EXPECT_LT(line, 1000);
    tried.insert(line);
  }
  EXPECT_GT(tried.size(), 40U);
}

}  // namespace
}  // namespace ocrtune
