#include "trial/observe/oom_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OomVerdict, NothingGrew) {
  OomCounts counts;
  counts.host = 3;
  counts.groups = {{"/a", 1}};
  const OomVerdict verdict = judge_oom(counts, counts, {}, {7});
  EXPECT_FALSE(verdict.killed);
  EXPECT_TRUE(verdict.evidence.empty());
}

TEST(OomVerdict, GroupBeforeHost) {
  OomCounts before;
  before.host = 3;
  before.groups = {{"/a", 1}, {"/", 5}};
  OomCounts after = before;
  after.host = 4;
  EXPECT_EQ(judge_oom(before, after, {}, {}).cause, "host");
  after.groups["/a"] = 2;
  const OomVerdict verdict = judge_oom(before, after, {}, {});
  EXPECT_EQ(verdict.cause, "cgroup");
  EXPECT_THAT(verdict.evidence,
              ElementsAre(HasSubstr("/a grew by 1"), HasSubstr("/proc/vmstat grew by 1")));
}

TEST(OomVerdict, KernelLogNamesTheProcess) {
  const std::vector<std::string> log = {
      "[12.0] Memory cgroup out of memory: Killed process 812 (python) total-vm:9kB"};
  EXPECT_EQ(judge_oom({}, {}, log, {811, 812}).cause, "cgroup");
  EXPECT_FALSE(judge_oom({}, {}, log, {81}).killed) << "somebody else's process";
}

TEST(KernelLog, IsCutByTime) {
  const std::string log =
      "<6>[    1.268622] random: reseeded\n<4>[   90.500000] Out of memory: Killed process 5 (x)\n"
      "no stamp\n<4>[  bad] x\n";
  EXPECT_THAT(lines_since(log, 91), ElementsAre(HasSubstr("Killed process 5")));
  EXPECT_EQ(lines_since(log, 0).size(), 2u);
  EXPECT_TRUE(lines_since("", 0).empty());
}

TEST(OomCounts, ReadsBothVersions) {
  const auto folder = make_temporary_directory("oom");
  ASSERT_TRUE(folder.ok());
  const std::string group = *folder + "/sys/fs/cgroup/job";
  ASSERT_TRUE(make_directories(group).ok());
  ASSERT_TRUE(make_directories(*folder + "/proc/self").ok());
  ASSERT_TRUE(write_file(*folder + "/proc/vmstat", "pswpin 0\noom_kill 12\n").ok());
  ASSERT_TRUE(write_file(*folder + "/proc/self/cgroup", "0::/job\n").ok());
  ASSERT_TRUE(write_file(*folder + "/proc/self/mountinfo",
                         "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
                  .ok());
  ASSERT_TRUE(write_file(*folder + "/sys/fs/cgroup/cgroup.controllers", "cpu memory\n").ok());
  ASSERT_TRUE(write_file(group + "/cgroup.controllers", "cpu memory\n").ok());
  ASSERT_TRUE(write_file(group + "/memory.events", "low 0\noom 4\noom_kill 3\n").ok());
  const OomCounts counts = read_oom_counts(FileRoot(*folder));
  ASSERT_TRUE(counts.host.has_value());
  EXPECT_EQ(*counts.host, 12u);
  EXPECT_EQ(counts.groups.at("/job"), 3u);
  EXPECT_FALSE(read_oom_counts(FileRoot("/no/such/root")).host.has_value());
  EXPECT_TRUE(remove_tree(*folder).ok());
}

}  // namespace
}  // namespace ocrtune
