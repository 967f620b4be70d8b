// Ranks meet through a folder, and a rank that never comes costs the deadline and no more.

#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "probes/p2p/steps/gpu_step_order.h"

namespace ocrtune {
namespace {

TEST(Rendezvous, RanksMeetAndExchange) {
  const std::string folder = make_temporary_directory("meet").value();
  std::string got[2];
  std::thread ranks[2];
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank] = std::thread([&, rank] {
      Rendezvous here(folder, rank, 2, 10);
      ASSERT_TRUE(here.publish("word." + std::to_string(rank),
                               std::string("\0x", 2) + std::to_string(rank)));
      got[rank] = here.fetch("word." + std::to_string(1 - rank)).value_or("nothing");
      EXPECT_TRUE(here.meet("end"));
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(got[0], std::string("\0x1", 3));
  EXPECT_EQ(got[1], std::string("\0x0", 3));
  Rendezvous alone(folder, 0, 2, 0.05);
  const auto nobody = alone.fetch("never");
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().what, testing::HasSubstr("never"));
  EXPECT_FALSE(alone.meet("again"));
  static_cast<void>(remove_tree(folder));
}

TEST(StepProtocol, ArgumentsOfAStep) {
  const char* good[] = {"worker", "step", "nccl", "--rank=1", "--world=2", "--seconds=0.5"};
  const auto order = parse_gpu_step(6, const_cast<char**>(good));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->rank, 1);
  EXPECT_EQ(order->number("seconds", 60), 0.5);
  EXPECT_EQ(order->number("absent", 60), 60);
  const char* bad[][4] = {{"worker", "step", "nccl", "--rank=2"},
                          {"worker", "step", "nccl", "rank=0"},
                          {"worker", "step", "nccl", "--world=0"},
                          {"worker", "run", "nccl", "--rank=0"}};
  for (auto& arguments : bad) EXPECT_FALSE(parse_gpu_step(4, const_cast<char**>(arguments)));
  EXPECT_FALSE(parse_gpu_step(2, const_cast<char**>(good)));
}

}  // namespace
}  // namespace ocrtune
