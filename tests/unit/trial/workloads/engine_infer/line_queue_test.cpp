#include "trial/workloads/engine_infer/line_queue.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LineQueue, SharedChunksGoToAnyThatAsks) {
  LineQueue queue(5, 2, QueuePolicy::shared, 2);
  EXPECT_THAT(queue.take(1), ElementsAre(0, 1));
  EXPECT_THAT(queue.take(0), ElementsAre(2, 3));
  EXPECT_THAT(queue.take(1), ElementsAre(4));
  EXPECT_THAT(queue.take(0), IsEmpty());
  EXPECT_EQ(queue.chunks_in_flight(1), 2);
  EXPECT_TRUE(queue.answer(1, 0));
  EXPECT_EQ(queue.chunks_in_flight(1), 2);
  EXPECT_TRUE(queue.answer(1, 1));
  EXPECT_EQ(queue.chunks_in_flight(1), 1);
  EXPECT_EQ(queue.open(), 3);
}

TEST(LineQueue, StaticShardsAreEqualRuns) {
  LineQueue queue(7, 2, QueuePolicy::static_shards, 10);
  EXPECT_THAT(queue.take(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(queue.take(0), IsEmpty());
  EXPECT_THAT(queue.take(1), ElementsAre(4, 5, 6));
}

TEST(LineQueue, ChunksGrowAsTheyAreToldAndShrinkTowardsTheEnd) {
  LineQueue queue(200, 2, QueuePolicy::shared, 10);
  EXPECT_EQ(queue.take(0).size(), 10U);
  queue.set_chunk(0, 100);
  EXPECT_EQ(queue.take(0).size(), 47U) << "a quarter of the 190 that are left";
  EXPECT_EQ(queue.take(1).size(), 10U) << "the other worker was told nothing";
  std::vector<std::size_t> sizes;
  for (auto chunk = queue.take(0); !chunk.empty(); chunk = queue.take(0)) {
    sizes.push_back(chunk.size());
  }
  EXPECT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend() - 1)) << "the first may not be less";
  EXPECT_EQ(sizes.front(), 33U);
  EXPECT_EQ(sizes[sizes.size() - 2], 8U) << "never so few that batches are wasted";
}

TEST(LineQueue, SuspectsComeInGroupsThenAlone) {
  LineQueue queue(16, 1, QueuePolicy::static_shards, 8);
  EXPECT_EQ(queue.take(0).size(), 8U);
  EXPECT_THAT(queue.lose(0), IsEmpty());
  EXPECT_THAT(queue.take(0), ElementsAre(0, 1));
  EXPECT_THAT(queue.lose(0), IsEmpty());
  EXPECT_THAT(queue.take(0), ElementsAre(0));
  EXPECT_THAT(queue.take(0), ElementsAre(1));
  EXPECT_THAT(queue.take(0), ElementsAre(2, 3)) << "suspected once";
}

TEST(LineQueue, AShardOfAWorkerThatIsGivenUpGoesToTheOthers) {
  LineQueue queue(4, 2, QueuePolicy::static_shards, 1);
  EXPECT_THAT(queue.take(1), ElementsAre(2));
  EXPECT_THAT(queue.lose(1), IsEmpty());
  queue.give_up(1);
  std::set<std::int64_t> got;
  for (auto chunk = queue.take(0); !chunk.empty(); chunk = queue.take(0)) {
    got.insert(chunk.begin(), chunk.end());
  }
  EXPECT_EQ(got, (std::set<std::int64_t>{0, 1, 2, 3}));
}

TEST(LineQueue, LostLinesComeBackOnceAndFirst) {
  LineQueue queue(8, 1, QueuePolicy::shared, 2);
  EXPECT_THAT(queue.take(0), ElementsAre(0, 1));
  EXPECT_THAT(queue.take(0), ElementsAre(2, 3));
  EXPECT_TRUE(queue.answer(0, 0));
  EXPECT_THAT(queue.lose(0), IsEmpty());
  EXPECT_EQ(queue.open(), 7);
  EXPECT_THAT(queue.take(0), ElementsAre(1)) << "was being read: comes alone";
  EXPECT_THAT(queue.take(0), ElementsAre(2, 3));
}

TEST(LineQueue, ALateAnswerIsNotASecondOne) {
  LineQueue queue(2, 2, QueuePolicy::shared, 1);
  (void)queue.take(0);
  (void)queue.lose(0);
  EXPECT_THAT(queue.take(1), ElementsAre(0));
  EXPECT_TRUE(queue.answer(1, 0));
  EXPECT_FALSE(queue.answer(0, 0));
  EXPECT_EQ(queue.open(), 1);
}

TEST(LineQueue, ALineThatKillsItsWorkerIsFoundAndTheOthersAreRead) {
  LineQueue queue(20, 1, QueuePolicy::shared, 8);
  std::set<std::int64_t> read, unreadable;
  int deaths = 0;
  for (auto chunk = queue.take(0); !chunk.empty(); chunk = queue.take(0)) {
    for (std::int64_t line : chunk) {
      if (line == 5) {
        for (std::int64_t lost : queue.lose(0)) unreadable.insert(lost);
        ++deaths;
        break;
      }
      read.insert(line);
      EXPECT_TRUE(queue.answer(0, line));
    }
  }
  EXPECT_EQ(queue.open(), 0);
  EXPECT_EQ(read.size(), 19U);
  EXPECT_EQ(unreadable, std::set<std::int64_t>{5});
  EXPECT_EQ(deaths, 4);
}

// Random deaths in a random order of events: every line is answered exactly once.
TEST(LineQueue, RandomDeathsLoseAndDoubleNothing) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto policy = seed % 2 == 0 ? QueuePolicy::shared : QueuePolicy::static_shards;
    LineQueue queue(100, 3, policy, 1 + static_cast<int>(seed % 7));
    std::vector<std::vector<std::int64_t>> held(3);
    std::vector<int> answers(100);
    for (int event = 0; event < 100'000 && queue.open() > 0; ++event) {
      const auto worker = static_cast<std::size_t>(random.integer(0, 2));
      auto& lines = held[worker];
      if (random.uniform() < 0.01) {
        for (std::int64_t line : queue.lose(static_cast<int>(worker))) {
          ++answers[static_cast<std::size_t>(line)];
        }
        lines.clear();
      } else if (!lines.empty() && random.uniform() < 0.7) {
        if (queue.answer(static_cast<int>(worker), lines.front())) {
          ++answers[static_cast<std::size_t>(lines.front())];
        }
        lines.erase(lines.begin());
      } else {
        const auto chunk = queue.take(static_cast<int>(worker));
        lines.insert(lines.end(), chunk.begin(), chunk.end());
      }
    }
    EXPECT_EQ(queue.open(), 0) << seed;
    EXPECT_EQ(std::count(answers.begin(), answers.end(), 1), 100) << seed;
  }
}

}  // namespace
}  // namespace ocrtune
