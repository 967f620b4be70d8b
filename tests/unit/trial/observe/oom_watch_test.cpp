#include "trial/observe/oom_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const KernelLog kUnreadable;

KernelLog readable(std::vector<std::string> lines) { return {true, std::move(lines)}; }

OomCounts counts(std::uint64_t host, std::uint64_t group) {
  OomCounts all;
  all.host = host;
  all.groups = {{"/a", group}};
  return all;
}

TEST(OomVerdict, NothingGrew) {
  const OomVerdict verdict = judge_oom(counts(3, 1), counts(3, 1), kUnreadable, {7});
  EXPECT_FALSE(verdict.killed);
  EXPECT_TRUE(verdict.evidence.empty());
}

TEST(OomVerdict, TheOwnGroupsCountIsAKillAndTheMachinesIsAHint) {
  const OomVerdict hint = judge_oom(counts(3, 1), counts(4, 1), kUnreadable, {});
  EXPECT_FALSE(hint.killed);
  EXPECT_THAT(hint.evidence, ElementsAre(HasSubstr("/proc/vmstat grew by 1")));
  const OomVerdict verdict = judge_oom(counts(3, 1), counts(4, 2), kUnreadable, {});
  EXPECT_TRUE(verdict.killed);
  EXPECT_FALSE(verdict.named);
  EXPECT_EQ(verdict.cause, "cgroup");
  EXPECT_THAT(verdict.evidence, ElementsAre(HasSubstr("/a grew by 1")));
}

// The victim's group counts every kill in it; "oom" of the groups counts those for a limit.
TEST(OomVerdict, AKillBelowTheLimitsIsTheNodesOrTheMachines) {
  OomCounts before = counts(3, 1), after = counts(4, 2);
  before.limits = after.limits = {{"/", 0}, {"/a", 5}};
  EXPECT_EQ(judge_oom(before, after, kUnreadable, {}).cause, "host");
  after.nodes = "1";
  const OomVerdict of_node = judge_oom(before, after, kUnreadable, {});
  EXPECT_EQ(of_node.cause, "numa_node");
  EXPECT_THAT(of_node.evidence, ElementsAre(HasSubstr("is bound to NUMA node 1")));
  FailureEvidence evidence;
  note_oom_growth(before, after, kUnreadable, {}, evidence);
  EXPECT_EQ(evidence.cgroup_limit_hits, 0);
  EXPECT_EQ(evidence.bound_nodes, "1");
  after.limits["/"] = 1;
  EXPECT_EQ(judge_oom(before, after, kUnreadable, {}).cause, "cgroup") << "a limit above";
  after.limits.clear();
  EXPECT_EQ(judge_oom(before, after, kUnreadable, {}).cause, "cgroup") << "not known";
  after.limits = before.limits;
  after.hidden_limits = true;
  EXPECT_EQ(judge_oom(before, after, kUnreadable, {}).cause, "numa_node");
  after.nodes.clear();
  EXPECT_EQ(judge_oom(before, after, kUnreadable, {}).cause, "cgroup") << "perhaps the pod's";
}

TEST(OomVerdict, AGroupThatWasNotThereBeforeProvesNothing) {
  EXPECT_FALSE(judge_oom(OomCounts(), counts(0, 5), kUnreadable, {}).killed);
}

TEST(OomVerdict, KernelLogNamesTheProcess) {
  const KernelLog log =
      readable({"[12.0] Memory cgroup out of memory: Killed process 812 (python) total-vm:9kB"});
  const OomVerdict verdict = judge_oom({}, {}, log, {811, 812});
  EXPECT_EQ(verdict.cause, "cgroup");
  EXPECT_TRUE(verdict.named);
  EXPECT_FALSE(judge_oom({}, {}, log, {81}).killed) << "somebody else's process";
  EXPECT_THAT(kills_of(log, {812}), testing::SizeIs(1));
  EXPECT_FALSE(judge_oom({}, {}, {false, log.lines}, {812}).killed) << "pids of another namespace";
  const KernelLog host =
      readable({"[9] oom-kill:constraint=CONSTRAINT_NONE,task_memcg=/a,task=python,pid=812,uid=0",
                "[9] Out of memory: Killed process 812 (python) total-vm:9kB"});
  EXPECT_EQ(judge_oom({}, {}, host, {812}).cause, "host");
  const KernelLog node =
      readable({"[9] oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=a,mems_allowed=1,"
                "task_memcg=/a,task=python,pid=812,uid=0",
                "[9] Out of memory: Killed process 812 (python) total-vm:9kB"});
  EXPECT_EQ(judge_oom({}, {}, node, {812}).cause, "numa_node");
}

TEST(OomVerdict, ALogThatNamesOthersSpeaksAgainst) {
  const KernelLog log = readable({"[12.0] Out of memory: Killed process 99 (chrome) total-vm:9kB"});
  const OomVerdict verdict = judge_oom(counts(3, 1), counts(4, 2), log, {812});
  EXPECT_FALSE(verdict.killed);
  EXPECT_THAT(verdict.evidence, ElementsAre(HasSubstr("ended others (pid 99)")));
  FailureEvidence evidence;
  note_oom_growth(counts(3, 1), counts(4, 2), log, {812}, evidence);
  EXPECT_EQ(evidence.host_oom_kills, 0);
  EXPECT_EQ(evidence.cgroup_oom_kills, 0);
  note_oom_growth(counts(3, 1), counts(4, 2), kUnreadable, {812}, evidence);
  EXPECT_EQ(evidence.host_oom_kills, 1);
  EXPECT_EQ(evidence.cgroup_oom_kills, 1);
}

TEST(KernelLog, IsCutByTime) {
  const std::string log =
      "<6>[    1.268622] random: reseeded\n<4>[   90.500000] Out of memory: Killed process 5 (x)\n"
      "no stamp\n<4>[  bad] x\n";
  EXPECT_THAT(lines_since(log, 91), ElementsAre(HasSubstr("Killed process 5")));
  EXPECT_EQ(lines_since(log, 0).size(), 2u);
  EXPECT_TRUE(lines_since("", 0).empty());
}

class OomGroups : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("oom");
    put("/proc/vmstat", "pswpin 0\noom_kill 12\n");
    put("/proc/self/cgroup", "0::/pod/job\n");
    put("/proc/77/cgroup", "0::/pod/other\n");
    put("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/pod/memory.events", "oom_kill 9\n");
    put("/sys/fs/cgroup/pod/job/memory.events", "low 0\noom 4\noom_kill 3\n");
    put("/sys/fs/cgroup/pod/other/memory.events", "oom_kill 5\n");
    put("/sys/fs/cgroup/pod/other/memory.events.local", "oom_kill 1\n");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }
  void put(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(make_directories(parent_path(folder_ + path)).ok());
    ASSERT_TRUE(write_file(folder_ + path, text).ok());
  }

  std::string folder_;
};

TEST_F(OomGroups, OnlyThoseThatHoldATrialsProcess) {
  OomWatch watch{FileRoot(folder_)};
  EXPECT_EQ(watch.before().host, 12u);
  EXPECT_THAT(watch.before().groups, ElementsAre(testing::Pair("/sys/fs/cgroup/pod/job", 3)));
  ProcessFacts member;
  member.pid = 77;
  watch.look({member});
  EXPECT_EQ(watch.before().groups.at("/sys/fs/cgroup/pod/other"), 1u) << "not those below it";
  put("/sys/fs/cgroup/pod/memory.events", "oom_kill 10\n");
  put("/sys/fs/cgroup/pod/other/memory.events", "oom_kill 6\n");
  EXPECT_FALSE(judge_oom(watch.before(), watch.now(), kUnreadable, watch.pids()).killed);
  put("/sys/fs/cgroup/pod/other/memory.events.local", "oom_kill 2\n");
  EXPECT_TRUE(judge_oom(watch.before(), watch.now(), kUnreadable, watch.pids()).killed);
}

TEST_F(OomGroups, LimitsAreReadAtAllLevelsAndNodesOfAnyMember) {
  OomWatch machine{FileRoot(folder_)};
  EXPECT_THAT(machine.before().limits, ElementsAre(testing::Pair("/sys/fs/cgroup/pod/job", 4)));
  put("/sys/fs/cgroup/pod/memory.events", "oom 2\noom_kill 9\n");
  for (const char* node : {"0", "1"}) {
    put(std::string("/sys/devices/system/node/node") + node + "/meminfo",
        std::string("Node ") + node + " MemTotal: 1000 kB\n");
  }
  OomWatch watch{FileRoot(folder_)};
  EXPECT_THAT(watch.before().limits, ElementsAre(testing::Pair("/sys/fs/cgroup/pod", 2),
                                                 testing::Pair("/sys/fs/cgroup/pod/job", 4)));
  EXPECT_EQ(watch.now().nodes, "");
  ProcessFacts member;
  member.pid = 77;
  put("/proc/77/numa_maps", "400000 bind:1 file=/usr/bin/python3 mapped=3 N1=3\n");
  watch.look({member}, 100);
  EXPECT_EQ(watch.now().nodes, "1");
  OomCounts later = watch.now();
  later.groups["/sys/fs/cgroup/pod/job"] += 1;
  EXPECT_EQ(judge_oom(watch.before(), later, kUnreadable, {}).cause, "numa_node");
}

// Version 1 counts how often the limit was in the way.
TEST_F(OomGroups, LimitsOfVersionOne) {
  put("/proc/self/cgroup", "4:memory:/job\n");
  put("/proc/self/mountinfo", "31 23 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  put("/sys/fs/cgroup/memory/release_agent", "\n");  // nothing lies above
  put("/sys/fs/cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\noom_kill 3\n");
  put("/sys/fs/cgroup/memory/job/memory.failcnt", "17\n");
  OomWatch watch{FileRoot(folder_)};
  EXPECT_THAT(watch.before().limits, ElementsAre(testing::Pair("/sys/fs/cgroup/memory/job", 17)));
  put("/sys/fs/cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\noom_kill 4\n");
  EXPECT_EQ(judge_oom(watch.before(), watch.now(), kUnreadable, {}).cause, "host");
  put("/sys/fs/cgroup/memory/job/memory.failcnt", "20\n");
  EXPECT_EQ(judge_oom(watch.before(), watch.now(), kUnreadable, {}).cause, "cgroup");
}

// In weeks pids come back: as members of other groups, and as strangers.
TEST_F(OomGroups, AProcessIsItsPidAndItsStart) {
  OomWatch watch{FileRoot(folder_)};
  ProcessFacts member;
  member.pid = 77;
  member.start_ticks = 5;
  put("/proc/77/cgroup", "0::/\n");
  watch.look({member}, 0);
  EXPECT_EQ(watch.before().groups.count("/sys/fs/cgroup/pod/other"), 0u);
  put("/proc/77/cgroup", "0::/pod/other\n");
  watch.look({member}, 1);
  EXPECT_EQ(watch.before().groups.count("/sys/fs/cgroup/pod/other"), 0u) << "looked at once";
  member.start_ticks = 900;
  watch.look({member}, 2);
  EXPECT_EQ(watch.before().groups.count("/sys/fs/cgroup/pod/other"), 1u);
  for (int pid = 100; pid < 100000; ++pid) {
    ProcessFacts brief;
    brief.pid = pid;
    brief.start_ticks = 1;
    watch.look({brief}, pid);
  }
  EXPECT_EQ(watch.pids().count(77), 0u);
  EXPECT_LE(watch.pids().size(), 601u);
}

TEST_F(OomGroups, AMachineWithoutThemCountsNothing) {
  OomWatch watch{FileRoot("/no/such/root")};
  EXPECT_FALSE(watch.before().host.has_value());
  EXPECT_TRUE(watch.before().groups.empty());
}

}  // namespace
}  // namespace ocrtune
