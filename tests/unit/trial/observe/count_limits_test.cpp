#include "trial/observe/count_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(OpenFiles, CountsAgainstTheProcesssOwnLimit) {
  ProcessFacts self;
  self.pid = ::getpid();
  const auto before = fullest_file_table({self});
  ASSERT_TRUE(before);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(before->limit, limit.rlim_cur);
  std::vector<int> files;
  for (int i = 0; i < 7; ++i) files.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(fullest_file_table({self})->peak, before->peak + 7);
  for (int file : files) ::close(file);
}

TEST(OpenFiles, AProcessThatIsGoneSaysNothing) {
  ProcessFacts gone;
  gone.pid = 1 << 30;
  EXPECT_FALSE(fullest_file_table({gone}));
}

class TaskLimits : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("task_limits"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  void put(const std::string& path, const std::string& text) const {
    const std::string file = folder_ + path;
    ASSERT_TRUE(make_directories(parent_path(file)));
    ASSERT_TRUE(write_file(file, text));
  }

  std::string folder_;
};

TEST_F(TaskLimits, TheNearestControlGroupCounts) {
  put("/proc/self/cgroup", "0::/pod/box\n");
  put("/proc/self/mountinfo",
      "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
  put("/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
  put("/sys/fs/cgroup/pod/cgroup.controllers", "cpu memory pids\n");
  put("/sys/fs/cgroup/pod/box/cgroup.controllers", "cpu memory pids\n");
  put("/sys/fs/cgroup/pod/box/pids.max", "max\n");
  put("/sys/fs/cgroup/pod/box/pids.current", "40\n");
  put("/sys/fs/cgroup/pod/pids.max", "64\n");
  put("/sys/fs/cgroup/pod/pids.current", "60\n");
  const CountUse use = tasks_of_control_groups(FileRoot(folder_));
  EXPECT_EQ(use.limit, 64U);
  EXPECT_EQ(use.peak, 60U) << "all that runs in the group";
}

TEST_F(TaskLimits, ThreadsOfTheUserAreCounted) {
  put("/proc/10/status", "Name:\tpython\nUid:\t1000\t1000\t1000\t1000\nThreads:\t8\n");
  put("/proc/11/status", "Name:\tbash\nUid:\t1000\t1000\t1000\t1000\nThreads:\t1\n");
  put("/proc/12/status", "Name:\tcron\nUid:\t0\t0\t0\t0\nThreads:\t3\n");
  put("/proc/meminfo", "MemTotal: 1 kB\n");
  const CountUse use = tasks_of_user(FileRoot(folder_), 1000, 32);
  EXPECT_EQ(use.peak, 9U);
  EXPECT_EQ(use.limit, 32U);
}

TEST_F(TaskLimits, WithoutALimitNothingIsKnown) {
  EXPECT_EQ(tasks_of_control_groups(FileRoot(folder_)).limit, 0U);
}

}  // namespace
}  // namespace ocrtune
