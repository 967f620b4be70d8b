#include "trial/workloads/service/spread_target.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// Finishes what it is told to.
struct Scripted final : LoadTarget {
  std::vector<std::uint64_t> open;
  bool answers = true;
  std::string why, how;

  void start(std::uint64_t request, int) override { open.push_back(request); }
  void collect(double, std::vector<Completion>& finished) override {
    if (!answers) return;
    for (const std::uint64_t request : open) finished.push_back({request, 1, true});
    open.clear();
  }
  std::string failure() const override { return why; }
  std::string ended() const override { return how; }
};

struct Spread {
  std::vector<Scripted*> parts;
  std::unique_ptr<SpreadTarget> target;

  explicit Spread(int count) {
    std::vector<std::unique_ptr<LoadTarget>> targets;
    for (int i = 0; i < count; ++i) {
      auto part = std::make_unique<Scripted>();
      parts.push_back(part.get());
      targets.push_back(std::move(part));
    }
    target = std::make_unique<SpreadTarget>(std::move(targets));
  }
};

TEST(SpreadTarget, ARequestGoesToTheOneWithTheFewestUnderWay) {
  Spread spread(3);
  for (std::uint64_t request = 0; request < 7; ++request) spread.target->start(request, 0);
  EXPECT_EQ(spread.parts[0]->open.size(), 3U);
  EXPECT_EQ(spread.parts[1]->open.size(), 2U);
  EXPECT_EQ(spread.parts[2]->open.size(), 2U);
  spread.parts[0]->answers = spread.parts[1]->answers = false;
  std::vector<Completion> finished;
  spread.target->collect(0, finished);
  EXPECT_EQ(finished.size(), 2U);
  for (std::uint64_t request = 7; request < 9; ++request) spread.target->start(request, 0);
  EXPECT_EQ(spread.parts[2]->open.size(), 2U) << "the one that answers gets the next";
}

TEST(SpreadTarget, AllFinishOnce) {
  Spread spread(2);
  for (std::uint64_t request = 0; request < 10; ++request) spread.target->start(request, 0);
  std::vector<Completion> finished;
  spread.target->collect(1e18, finished);
  spread.target->collect(0, finished);
  std::set<std::uint64_t> seen;
  for (const Completion& one : finished) EXPECT_TRUE(seen.insert(one.request).second);
  EXPECT_EQ(seen.size(), 10U);
}

TEST(SpreadTarget, TellsOfTheOneThatFailsOrEnds) {
  Spread spread(2);
  EXPECT_EQ(spread.target->failure(), "");
  EXPECT_EQ(spread.target->ended(), "");
  spread.parts[1]->why = "HTTP 500";
  spread.parts[1]->how = "exit code 1";
  EXPECT_EQ(spread.target->failure(), "HTTP 500");
  EXPECT_EQ(spread.target->ended(), "exit code 1");
}

}  // namespace
}  // namespace ocrtune
