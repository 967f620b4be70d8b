// A reader on a machine of two NUMA nodes whose memory a launcher bound to the other one, as its
// /proc and /sys were saved: from these texts to the sentence.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "trial/stages/tree_counters.h"
#include "tuner/verdict/held_back.h"

namespace ocrtune {
namespace {

class SavedNodes : public testing::Test {
 protected:
  void SetUp() override { folder_ = make_temporary_directory("saved_nodes").value(); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  void write(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(make_directories(parent_path(join_path(folder_, path))));
    ASSERT_TRUE(write_file(join_path(folder_, path), text));
  }
  static std::string stat_line(int id, int cpu, int ticks) {
    return fmt::format(
        "{} (python3) R 1 1 1 0 -1 4194304 900 0 0 0 {} 5 0 0 20 0 2 0 100 4000000 900000 "
        "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 {} 0 0 0 0 0\n",
        id, ticks, cpu);
  }
  // Threads on CPUs of node 0, which has 0 to 3.
  void machine(const char* maps) const {
    for (int node = 0; node < 2; ++node) {
      const std::string folder = fmt::format("sys/devices/system/node/node{}/", node);
      write(folder + "cpulist", node == 0 ? "0-3\n" : "4-7\n");
      write(folder + "meminfo", fmt::format("Node {0} MemTotal: 65536000 kB\n", node));
    }
    write("proc/10/numa_maps", maps);
    for (int i = 0; i < 4; ++i) {
      write(fmt::format("proc/10/task/{}/stat", 10 + i), stat_line(10 + i, i, 5));
    }
  }
  std::vector<HeldBack> found() const {
    constexpr int kLooks = 4;
    TreeCounters counters{FileRoot(folder_)};
    std::vector<ProcessFacts> members(1);
    members[0].pid = 10;
    for (int second = 0; second <= kLooks; ++second) {
      write("proc/10/stat", stat_line(10, 0, 400 * second));
      counters.look(second, members);
    }
    Trial trial;
    trial.knobs.threads = 4;
    trial.threads.alive = 4;
    trial.threads.busy = trial.threads.cpus = trial.threads.runnable = 3.9;
    counters.fill(trial.stages);
    trial.stages.observed_seconds = kLooks;
    trial.stages.saturated_threads = 4;
    return held_back(trial, 4, {});
  }

  std::string folder_;
};

TEST_F(SavedNodes, MemoryThatALauncherBoundToTheOtherNode) {
  machine(
      "55d0c2a00000 bind:1 file=/usr/bin/python3.11 mapped=680 mapmax=9 N0=680 "
      "kernelpagesize_kB=4\n"
      "55d0c4b00000 bind:1 heap anon=52000 dirty=52000 active=0 N1=52000 kernelpagesize_kB=4\n"
      "7f2a10000000 bind:1 anon=96 dirty=96 N1=96 kernelpagesize_kB=2048\n");
  const auto held = found();
  ASSERT_EQ(held.size(), 2u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_remote_memory));
  EXPECT_GT(held[0].cause.number(0), 0.98);
  EXPECT_TRUE(held[1].cause.is(ReasonCode::held_by_cpus));
}

TEST_F(SavedNodes, MemoryWhereItsThreadsAre) {
  machine("55d0c4b00000 default heap anon=52000 N0=51000 N1=1000 kernelpagesize_kB=4\n");
  const auto held = found();
  ASSERT_EQ(held.size(), 1u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_cpus));
}

}  // namespace
}  // namespace ocrtune
