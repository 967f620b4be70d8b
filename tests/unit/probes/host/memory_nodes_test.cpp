#include "probes/host/memory_nodes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

// Two nodes of 64 GiB with 40 and 60 GiB free.
std::vector<MemoryNode> two_nodes() {
  std::vector<MemoryNode> nodes(2);
  for (int i = 0; i < 2; ++i) {
    MemoryNode& node = nodes[static_cast<std::size_t>(i)];
    node.node = i;
    node.total_bytes = 64 * kGiB;
    node.free_bytes = (i == 0 ? 40 : 60) * kGiB;
    node.cpus = CpuSet::range(16 * i, 16 * i + 15);
  }
  return nodes;
}

MemoryFacts their_memory() {
  MemoryFacts memory;
  memory.total_bytes = 128 * kGiB;
  memory.available_bytes = 100 * kGiB;
  memory.limits = {{128.0 * kGiB, "MemTotal"}};
  settle_limit(memory);
  return memory;
}

std::string bound(const std::string& command) {
  const auto nodes = bound_by_words(words(command), two_nodes());
  return nodes ? nodes->text() : "none";
}

TEST(MemoryNodes, WordsOfNumactlBind) {
  EXPECT_EQ(bound("numactl --membind=1 python t.py"), "1");
  EXPECT_EQ(bound("numactl --membind 1 python t.py"), "1");
  EXPECT_EQ(bound("/usr/bin/numactl -N 1 -m 1 python t.py"), "1");
  EXPECT_EQ(bound("env A=b numactl --cpunodebind=0 -m0 python t.py"), "0");
  EXPECT_EQ(bound("numactl -m !0 python t.py"), "1");
  EXPECT_EQ(bound("numactl -m +1 python t.py"), "1");
  EXPECT_EQ(bound("numactl -m all python t.py"), "0-1");
  EXPECT_EQ(bound("numactl -C 0-3 --membind=0,1 python t.py"), "0-1");
}

TEST(MemoryNodes, OtherWordsBindNothing) {
  EXPECT_EQ(bound("python t.py -m 1"), "none");  // not numactl's
  EXPECT_EQ(bound("numactl --interleave=0,1 python t.py"), "none");
  EXPECT_EQ(bound("numactl --preferred=1 python -m 1"), "none");  // behind the program's name
  EXPECT_EQ(bound("numactl -N 1 python t.py"), "none");
  EXPECT_EQ(bound("numactl --membind={node} python t.py"), "none");
  EXPECT_EQ(bound("numactl -m"), "none");
  EXPECT_EQ(bound(""), "none");
}

TEST(MemoryNodes, AShellsScriptIsLookedInto) {
  const std::vector<std::string> command = {"sh", "-c", "cd /x && numactl -m 1 python t.py"};
  const auto found = bound_by_words(command, two_nodes());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(), "1");
  EXPECT_TRUE(sets_memory_policy(command));
  EXPECT_FALSE(sets_memory_policy({"sh", "-c", "python numactl.py"}));
}

TEST(MemoryNodes, RelativeNodesCountAmongTheAllowed) {
  auto nodes = two_nodes();
  nodes[0].allowed = false;
  const auto found = bound_by_words(words("numactl -m +0 python"), nodes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(), "1");
  EXPECT_FALSE(bound_by_words(words("numactl -m +1 python"), nodes));
}

TEST(MemoryNodes, ABoundCommandHasItsNodesMemoryAlone) {
  const MemoryFacts memory =
      memory_of(their_memory(), two_nodes(), words("numactl --membind=0 python t.py"));
  EXPECT_EQ(memory.limit_bytes.value, 64.0 * kGiB);
  EXPECT_EQ(memory.limit_bytes.source, "node 0 (numactl --membind)");
  EXPECT_EQ(memory.available_bytes, 40 * kGiB);
}

TEST(MemoryNodes, WhatTakesNothingAwayIsNoLimit) {
  const auto limits = [](std::vector<MemoryNode> nodes, const char* command) {
    return memory_of(their_memory(), std::move(nodes), words(command)).limits.size();
  };
  EXPECT_EQ(limits(two_nodes(), "numactl -m 0,1 python"), 1U);
  EXPECT_EQ(limits(two_nodes(), "python t.py"), 1U);
  EXPECT_EQ(limits({}, "numactl -m 0 python t.py"), 1U);  // nodes unknown
  auto nodes = two_nodes();
  nodes[1].allowed = false;  // was out of bounds before
  EXPECT_EQ(limits(nodes, "numactl -m 0 python"), 1U);
}

TEST(MemoryNodes, HugePagesOfANodeAreNotItsToGive) {
  MemoryFacts memory = their_memory();
  auto nodes = two_nodes();
  nodes[1].huge_pages_bytes = 24 * kGiB;
  bind_memory({CpuSet({1}), "cpuset.mems of /job"}, nodes, memory);
  settle_limit(memory);
  EXPECT_FALSE(nodes[0].allowed);
  EXPECT_EQ(memory.limit_bytes.value, 40.0 * kGiB);
  EXPECT_EQ(memory.available_bytes, 40 * kGiB);
}

TEST(MemoryNodes, AreRowsWhereThereAreSeveral) {
  auto nodes = two_nodes();
  nodes[0].distances = {10, 21};
  nodes[1].allowed = false;
  const auto rows = node_settings(nodes);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].value, "node 0: 64.0 GiB, 40.0 GiB free, CPUs 0-15; distances 10 21");
  EXPECT_EQ(rows[1].value, "node 1: 64.0 GiB, 60.0 GiB free, CPUs 16-31, not allowed here");
  EXPECT_TRUE(node_settings({nodes[0]}).empty());
}

TEST(MemoryNodes, ThisMachineHasNodesOrNone) {
  const auto nodes = read_memory_nodes(FileRoot());
  for (const MemoryNode& node : nodes) EXPECT_LE(node.free_bytes, node.total_bytes) << node.node;
}

}  // namespace
}  // namespace ocrtune
