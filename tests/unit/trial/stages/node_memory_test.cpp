#include "trial/stages/node_memory.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(MappedBytes, PagesOfEachNodeInTheirSize) {
  EXPECT_THAT(mapped_bytes("7f10 default anon=300 dirty=300 active=0 N0=100 N1=200 "
                           "kernelpagesize_kB=4"),
              ElementsAre(Pair(0, 100 * 4096.0), Pair(1, 200 * 4096.0)));
  EXPECT_THAT(mapped_bytes("7f20 bind:1 file=/dev/hugepages/N3=4 huge dirty=2 N1=2 "
                           "kernelpagesize_kB=2048"),
              ElementsAre(Pair(1, 2 * 2048 * 1024.0)));
  EXPECT_THAT(mapped_bytes("7f30 default file=/usr/lib/libc.so.6"), IsEmpty());
  EXPECT_THAT(mapped_bytes(""), IsEmpty());
}

// Two nodes with CPUs 0 to 3 and 4 to 7; a reader with two threads.
class NodeMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temporary_directory("nodes").value();
    for (int node = 0; node < 2; ++node) {
      write(fmt::format("sys/devices/system/node/node{}/cpulist", node),
            node == 0 ? "0-3\n" : "4-7\n");
      write(fmt::format("sys/devices/system/node/node{}/meminfo", node),
            fmt::format("Node {0} MemTotal: 67108864 kB\nNode {0} MemFree: 60000000 kB\n", node));
    }
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  void write(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(make_directories(parent_path(join_path(folder_, path))));
    ASSERT_TRUE(write_file(join_path(folder_, path), text));
  }
  void thread(int id, char state, int cpu) const {
    write(fmt::format("proc/10/task/{}/stat", id),
          fmt::format("{} (page (1) reader) {} 1 1 1 0 -1 4194304 0 0 0 0 9 1 0 0 20 0 2 0 100 "
                      "1 1 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 {} 0 0 0 0 0\n",
                      id, state, cpu));
  }
  void memory(int first_pages, int second_pages) const {
    write("proc/10/numa_maps",
          fmt::format("55d0 default file=/usr/bin/reader mapped=9 N0=9 kernelpagesize_kB=4\n"
                      "7f10 default anon=9 dirty=9 N0={} N1={} kernelpagesize_kB=4\n",
                      first_pages, second_pages));
  }
  StageUse after(int looks) const {
    NodeMemory nodes{FileRoot(folder_)};
    nodes.look(0);
    for (int i = 0; i < looks; ++i) nodes.look(10);
    StageUse use;
    nodes.fill(use);
    return use;
  }

  std::string folder_;
};

TEST_F(NodeMemoryTest, MemoryOfTheOtherNode) {
  memory(2000, 38000);
  thread(10, 'R', 1);
  thread(11, 'R', 3);
  thread(12, 'S', 6);  // where a thread sleeps is no matter
  const StageUse use = after(9);
  EXPECT_NEAR(use.remote_share, 0.95, 0.001);
  EXPECT_EQ(use.memory_nodes, "1");
  EXPECT_EQ(use.thread_nodes, "0");
}

TEST_F(NodeMemoryTest, MemoryOnOneNodeOfTwoThatCompute) {
  memory(0, 40000);
  thread(10, 'R', 1);
  thread(11, 'R', 5);
  const StageUse use = after(9);
  EXPECT_NEAR(use.remote_share, 0.5, 0.001);
  EXPECT_EQ(use.memory_nodes, "1");
  EXPECT_EQ(use.thread_nodes, "0-1");
}

TEST_F(NodeMemoryTest, AsManyPagesAsThreadsOnEachNode) {
  memory(20000, 20000);
  thread(10, 'R', 1);
  thread(11, 'R', 5);
  EXPECT_NEAR(after(9).remote_share, 0, 0.001);
}

TEST_F(NodeMemoryTest, FewLooksAndLittleMemorySayNothing) {
  memory(0, 40000);
  thread(10, 'R', 1);
  EXPECT_LT(after(3).remote_share, 0);
  memory(0, 4000);
  EXPECT_LT(after(9).remote_share, 0);
}

TEST_F(NodeMemoryTest, OneNodeHasNothingToSay) {
  memory(40000, 0);
  thread(10, 'R', 1);
  EXPECT_NEAR(after(9).remote_share, 0, 0.001);
  ASSERT_TRUE(remove_tree(folder_ + "/sys/devices/system/node/node1"));
  EXPECT_LT(after(9).remote_share, 0);
}

}  // namespace
}  // namespace ocrtune
