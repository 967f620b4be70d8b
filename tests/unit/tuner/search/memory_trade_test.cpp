// What is given up for more of a knob that memory does not hold beside the rest.
#include "tuner/search/memory_trade.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

Knobs team_with_loaders(int nproc, int threads, int workers) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.threads = threads;
  knobs.workers = workers;
  return knobs;
}

class MemoryTrade : public testing::Test {
 protected:
  MemoryTrade() {
    for (const int nproc : {1, 2, 4}) {
      for (const int threads : {1, 4, 8}) {
        for (const int workers : {1, 2}) {
          points_.push_back(team_with_loaders(nproc, threads, workers));
        }
      }
    }
  }

  // What is given up for two loaders a process, where so many threads and loaders in all fit.
  std::optional<Knobs> traded(const Knobs& leader, int most) {
    const Space space(points_);
    SearchBoard board(space, SearchOptions());
    Trial trial;
    trial.knobs = leader;
    trial.outcome = Outcome::ok;
    trial.samples_per_second = 100;
    board.tell(trial);
    const auto point = memory_trade(board, space.find(leader), [&](int at) {
      const Knobs& knobs = space.knobs(at);
      return knobs.nproc * (knobs.threads + 4 * knobs.workers) <= most;
    });
    return point ? std::optional<Knobs>(space.knobs(*point)) : std::nullopt;
  }

  std::vector<Knobs> points_;
};

TEST_F(MemoryTrade, OneProcessGivesUpThreads) {
  EXPECT_EQ(traded(team_with_loaders(1, 8, 1), 12), team_with_loaders(1, 4, 2));
}

TEST_F(MemoryTrade, SeveralGiveUpProcessesOrThreads) {
  const auto knobs = traded(team_with_loaders(4, 4, 1), 32);
  ASSERT_TRUE(knobs.has_value());
  EXPECT_EQ(knobs->workers, 2);
  EXPECT_TRUE(knobs->nproc < 4 || knobs->threads < 4);
}

TEST_F(MemoryTrade, NothingIsGivenUpWhereMemoryHoldsBoth) {
  EXPECT_FALSE(traded(team_with_loaders(1, 8, 1), 16));
}

}  // namespace
}  // namespace ocrtune
