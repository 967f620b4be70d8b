#include "trial/observe/memory_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/process_tree.h"
#include "tests/support/memory_tree.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// Waits until the tree holds so many processes and `ready` says so.
bool wait_for(
    ProcessTree& tree, std::size_t processes,
    const std::function<bool()>& ready = [] { return true; }) {
  for (int i = 0; i < 1000; ++i) {
    if (tree.scan().size() == processes && ready()) return true;
    ::usleep(10000);
  }
  return false;
}

std::uint64_t rss_of(ProcessTree& tree) { return read_memory(tree.members(), false).rss_bytes; }

TEST(ReadMemory, CountsSharedPagesOnce) {
  ProcessTree tree;
  ASSERT_TRUE(tree.start(memory_tree("shared 64 fork 3 { read own 8 wait 60 } wait 60")).ok());
  MemoryReading reading;
  ASSERT_TRUE(wait_for(tree, 4, [&] {
    reading = read_memory(tree.members(), true);
    return reading.pss_bytes > (64 + 20) * kMiB;
  }));
  EXPECT_LT(reading.pss_bytes, (64 + 24 + 12) * kMiB);
  EXPECT_GT(reading.pss_shared_bytes, 63 * kMiB);
  EXPECT_EQ(read_memory(tree.members(), false).pss_bytes, 0u);
}

TEST(ReadMemory, ForgetsWhoIsGone) {
  ProcessFacts nobody;
  nobody.pid = 2147483600;
  EXPECT_EQ(read_memory({nobody}, true).rss_bytes, 0u);
}

TEST(MemorySampler, ChildrenThatShareTheirParentsPagesAreNoPeak) {
  ProcessTree tree;
  MemorySampler sampler(2);
  ASSERT_TRUE(tree.start(memory_tree("own 96 wait 0.5 fork 6 { read wait 60 } wait 60")).ok());
  double now = 0;
  ASSERT_TRUE(wait_for(tree, 7, [&] {
    sampler.update(tree, now += 0.1, 300 * kMiB);
    EXPECT_FALSE(sampler.reached(300 * kMiB));
    return rss_of(tree) > 7 * 96 * kMiB;
  }));
  for (int i = 0; i < 30; ++i) sampler.update(tree, now += 0.1, 300 * kMiB);
  EXPECT_FALSE(sampler.reached(300 * kMiB));
  EXPECT_GT(sampler.peak_bytes(), 92 * kMiB);
  EXPECT_LT(sampler.peak_bytes(), (96 + 20) * kMiB);
}

TEST(MemorySampler, PagesCopiedOnWriteReachTheLimit) {
  ProcessTree tree;
  MemorySampler sampler(2);
  ASSERT_TRUE(
      tree.start(memory_tree("own 96 fork 4 { read wait 0.5 copy 96 wait 60 } wait 60")).ok());
  double now = 0;
  const std::uint64_t limit = 300 * kMiB;
  EXPECT_TRUE(wait_for(tree, 5, [&] {
    sampler.update(tree, now += 0.1, limit);
    return sampler.reached(limit);
  }));
}

TEST(MemorySampler, KeepsThePeak) {
  ProcessTree tree;
  MemorySampler sampler(2);
  ASSERT_TRUE(tree.start(memory_tree("own 64 wait 60")).ok());
  ASSERT_TRUE(wait_for(tree, 1, [&] { return rss_of(tree) > 64 * kMiB; }));
  sampler.update(tree, 1.0, 0);
  const std::uint64_t peak = sampler.peak_bytes();
  EXPECT_GT(peak, 60 * kMiB);
  tree.stop(0);
  sampler.update(tree, 2.0, 0, true);
  EXPECT_LT(sampler.bytes(), kMiB);
  EXPECT_EQ(sampler.peak_bytes(), peak);
}

// A file of /dev/shm for one test.
class ShmName {
 public:
  explicit ShmName(const std::string& tag)
      : name_("ocrtune_test_" + tag + "_" + std::to_string(::getpid())) {}
  ~ShmName() { ::unlink(path().c_str()); }
  const std::string& name() const { return name_; }
  std::string path() const { return "/dev/shm/" + name_; }

 private:
  std::string name_;
};

TEST(MemorySampler, CountsSharedMemoryThatTheTreeHasOpenAndNobodyElses) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm cannot be written";
  const ShmName mine("mine"), theirs("theirs"), old("old");
  ProcessTree before;
  ASSERT_TRUE(before.start(memory_tree("shm " + old.name() + " 16")).ok());
  ASSERT_TRUE(wait_for(before, 0));
  MemorySampler sampler(2);
  ProcessTree tree, others;
  ASSERT_TRUE(others.start(memory_tree("shm_open " + theirs.name() + " 64 wait 60")).ok());
  ASSERT_TRUE(tree.start(memory_tree("shm " + old.name() + " 16 shm_open " + mine.name() +
                                     " 32 own 8 wait 60"))
                  .ok());
  ASSERT_TRUE(wait_for(tree, 1, [&] { return rss_of(tree) > 24 * kMiB; }));
  ASSERT_TRUE(wait_for(others, 1, [&] { return shm_used_bytes() >= 112 * kMiB; }));
  sampler.update(tree, 1.0, 0);
  EXPECT_GT(sampler.peak_bytes(), (16 + 32 + 8 - 4) * kMiB);
  EXPECT_LT(sampler.peak_bytes(), (16 + 32 + 8 + 8) * kMiB);
  EXPECT_EQ(sampler.shm_names(), (std::set<std::string>{mine.name(), old.name()}));
  ASSERT_EQ(::unlink(mine.path().c_str()), 0);
  sampler.update(tree, 2.0, 0, true);
  EXPECT_EQ(sampler.shm_names(), std::set<std::string>{old.name()});
}

TEST(MemorySampler, LooksSoonerBeforeALimit) {
  MemorySampler sampler(64);
  ProcessTree tree;
  sampler.update(tree, 1.0, 0, true);
  EXPECT_GE(sampler.next_seconds(0) - 1.0, 0.1);
  ASSERT_TRUE(tree.start(memory_tree("own 64 wait 60")).ok());
  ASSERT_TRUE(wait_for(tree, 1, [&] { return rss_of(tree) > 64 * kMiB; }));
  sampler.update(tree, 1.1, 0, true);
  EXPECT_GT(sampler.bytes_per_second(), 0);
  EXPECT_LT(sampler.next_seconds(sampler.bytes() + kMiB) - 1.1, 0.1);
  EXPECT_GE(sampler.next_seconds(sampler.bytes() + kMiB) - 1.1, 0.004);
}

}  // namespace
}  // namespace ocrtune
