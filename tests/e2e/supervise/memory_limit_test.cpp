// A supervised run is stopped at its memory limit when the tree holds so much, and never before.
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process_tree.h"
#include "extras/supervise/supervised_attempt.h"
#include "tests/support/memory_tree.h"
#include "trial/observe/memory_sampler.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

class MemoryLimit : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("memory-limit"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  AttemptEnd attempt(const std::string& script, std::uint64_t limit_bytes) {
    return attempt(memory_tree(script), limit_bytes, 0);
  }
  AttemptEnd attempt(ProcessOptions process, std::uint64_t limit_bytes, double grace_seconds) {
    AttemptPlan plan;
    plan.process = std::move(process);
    plan.log_path = join_path(folder_, "log");
    plan.memory_limit_bytes = limit_bytes;
    plan.stop_grace_seconds = grace_seconds;
    auto end = run_attempt(plan, {});
    EXPECT_TRUE(end.ok());
    return *end;
  }

  std::string folder_;
};

TEST_F(MemoryLimit, ChildrenThatShareTheirParentsPagesMayRun) {
  const AttemptEnd end = attempt("own 700 wait 1.2 fork 6 { read wait 2 } join", 1500 * kMebibyte);
  EXPECT_EQ(end.stop, AttemptStop::none);
  EXPECT_TRUE(end.exit.clean());
  EXPECT_LT(end.peak_bytes, 750 * kMebibyte);
}

TEST_F(MemoryLimit, WhatChildrenCopyOnWriteIsStopped) {
  const AttemptEnd end =
      attempt("own 96 wait 0.4 fork 6 { read wait 1 copy 96 wait 60 } join", 250 * kMebibyte);
  EXPECT_EQ(end.stop, AttemptStop::memory);
  EXPECT_GE(end.peak_bytes, 250 * kMebibyte);
}

// As an LMDB data set is: the kernel takes its pages back before anybody lacks memory.
TEST_F(MemoryLimit, MappedFilesAreCache) {
  struct statfs facts {};
  ASSERT_EQ(::statfs(folder_.c_str(), &facts), 0);
  if (facts.f_type == TMPFS_MAGIC) GTEST_SKIP() << folder_ << " is memory itself";
  const AttemptEnd end = attempt("file " + join_path(folder_, "data.mdb") +
                                     " 300 fork 2 { read own 8 wait 1.5 } join own 8 wait 0.5",
                                 150 * kMebibyte);
  EXPECT_EQ(end.stop, AttemptStop::none);
  EXPECT_TRUE(end.exit.clean());
  EXPECT_GT(end.peak_bytes, 14 * kMebibyte);
  EXPECT_LT(end.peak_bytes, 100 * kMebibyte);
  EXPECT_LT(end.possible_peak_bytes, 150 * kMebibyte);
}

// It ignores SIGTERM, as a training does that saves its state first.
TEST_F(MemoryLimit, GraceEndsWhereMemoryGrowsOn) {
  ProcessOptions deaf = memory_tree("own 100 wait 0.3 grow 900 90");
  deaf.arguments.insert(deaf.arguments.begin(),
                        {"sh", "-c", "trap '' TERM; \"$@\"; echo has them all", "sh"});
  const AttemptEnd end = attempt(deaf, 150 * kMebibyte, 60);
  EXPECT_EQ(end.stop, AttemptStop::memory);
  EXPECT_EQ(end.exit.signal, SIGKILL);
  EXPECT_EQ(end.output, "");
}

TEST_F(MemoryLimit, WhoGrowsNoMoreHasItsGrace) {
  ProcessOptions saving;
  saving.arguments = {"sh", "-c", "trap 'sleep 1; echo saved >&2; exit 5' TERM; \"$@\" & wait",
                      "sh"};
  for (const std::string& word : memory_tree_command("own 100 grow 56 100 wait 60")) {
    saving.arguments.push_back(word);
  }
  const AttemptEnd end = attempt(saving, 150 * kMebibyte, 30);
  EXPECT_EQ(end.stop, AttemptStop::memory);
  EXPECT_EQ(end.exit.code, 5);
  EXPECT_THAT(end.output, testing::HasSubstr("saved"));
  EXPECT_THAT(end.evidence.killed_why, testing::HasSubstr("reached the limit of 150"));
}

TEST_F(MemoryLimit, SharedMemoryOfOthersIsNotItsOwn) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm cannot be written";
  const std::string name = "ocrtune_test_others_" + std::to_string(::getpid());
  ProcessTree others;
  ASSERT_TRUE(others.start(memory_tree("wait 0.7 shm_open " + name + " 96 wait 60")).ok());
  const AttemptEnd end = attempt("own 8 wait 2.5", 64 * kMebibyte);
  ::unlink(("/dev/shm/" + name).c_str());
  EXPECT_EQ(end.stop, AttemptStop::none);
  EXPECT_LT(end.peak_bytes, 32 * kMebibyte);
}

TEST_F(MemoryLimit, SharedMemoryOfAKilledRunIsRemovedAndOfAGoodOneIsLeft) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm cannot be written";
  const std::string name = "ocrtune_test_killed_" + std::to_string(::getpid());
  EXPECT_TRUE(attempt("shm_open " + name + " 1 wait 0.5", 0).removed_shm.empty());
  EXPECT_EQ(::unlink(("/dev/shm/" + name).c_str()), 0);
  const AttemptEnd end = attempt("fork 1 { shm_open " + name + " 1 wait 60 } wait 1.5 die", 0);
  EXPECT_EQ(end.removed_shm, std::vector<std::string>{name});
  EXPECT_FALSE(path_exists("/dev/shm/" + name));
}

}  // namespace
}  // namespace ocrtune
