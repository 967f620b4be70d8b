#include "trial/observe/interference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

LoadSnapshot at(double seconds, double busy, double own) {
  LoadSnapshot snapshot;
  snapshot.seconds = seconds;
  snapshot.busy_cpu_seconds = busy;
  snapshot.total_cpu_seconds = 8 * seconds;  // eight CPUs
  snapshot.own_cpu_seconds = own;
  return snapshot;
}

TEST(Interference, QuietMachineIsClean) {
  const auto found = interference_between(at(10, 100, 50), at(11, 102.03, 52), {2, 8});
  EXPECT_NEAR(found.external_cpus, 0.03, 1e-9);
  EXPECT_EQ(found.spoilt_by, "");
}

TEST(Interference, ExternalLoadDiscardsAWindow) {
  const auto found = interference_between(at(10, 100, 50), at(11, 103.4, 52), {2, 8});
  EXPECT_NEAR(found.external_cpus, 1.4, 1e-9);
  EXPECT_THAT(found.spoilt_by, HasSubstr("other processes used 1.40 CPUs"));
}

TEST(Interference, ResolutionOfShortWindowsIsForgiven) {
  // 0.2 CPUs for a tenth of a second are two ticks: within the error of the kernel's counting.
  EXPECT_EQ(interference_between(at(10, 100, 50), at(10.1, 100.22, 50.2), {2, 8}).spoilt_by, "");
  EXPECT_NE(interference_between(at(10, 100, 50), at(11, 102.2, 50.0 + 1.9), {2, 8}).spoilt_by, "");
}

TEST(Interference, WaitingIsBlamedOnOthersOnlyWhereCpusSuffice) {
  LoadSnapshot before = at(10, 100, 50);
  LoadSnapshot after = at(11, 102, 52);
  before.has_thread_times = after.has_thread_times = true;
  before.threads = {{1, {5.0, 1.0}}, {2, {5.0, 1.0}}};
  after.threads = {{1, {5.8, 1.2}}, {2, {5.8, 1.2}}};
  const auto within = interference_between(before, after, {2, 8});
  EXPECT_NEAR(within.run_queue_wait_share, 0.2, 1e-9);
  EXPECT_THAT(within.spoilt_by, HasSubstr("waited for a CPU"));
  EXPECT_EQ(interference_between(before, after, {16, 8}).spoilt_by, "")
      << "sixteen threads on eight CPUs wait for each other";
  after.busy_cpu_seconds += 0.09;  // some external load beside it
  EXPECT_NE(interference_between(before, after, {16, 8}).spoilt_by, "");
}

TEST(Interference, RanksThatTakeAllCpusWaitForEachOther) {
  // Two ranks of one thread on two CPUs, and the threads that exchange gradients for them.
  LoadSnapshot before = at(10, 100, 50), after = at(11, 101.9, 51.84);
  before.total_cpu_seconds = 20;
  after.total_cpu_seconds = 22;
  before.has_thread_times = after.has_thread_times = true;
  before.threads = {{1, {5.0, 1.0}}, {2, {5.0, 1.0}}, {3, {1.0, 0.1}}};
  after.threads = {{1, {5.89, 1.11}}, {2, {5.88, 1.12}}, {3, {1.03, 0.13}}};
  const auto alone = interference_between(before, after, {2, 2});
  EXPECT_GT(alone.run_queue_wait_share, 0.1);
  EXPECT_EQ(alone.spoilt_by, "");
  // A neighbour that has a tenth of a CPU, which by itself is below the limit.
  after.threads = {{1, {5.74, 1.26}}, {2, {5.74, 1.26}}, {3, {1.02, 0.14}}};
  after.own_cpu_seconds = 51.6;
  after.busy_cpu_seconds = 101.7;
  EXPECT_THAT(interference_between(before, after, {2, 2}).spoilt_by, HasSubstr("waited for a CPU"));
}

TEST(Interference, ProcessesThatEndedInTheWindowCountAsOwn) {
  // One page, one process: its threads are gone when the window is looked at.
  LoadSnapshot before = at(10, 100, 50), after = at(11, 101.9, 51.9);
  before.has_thread_times = after.has_thread_times = true;
  before.threads = after.threads = {{1, {5.0, 0.0}}};
  before.tree_cpu_seconds = 49;
  after.tree_cpu_seconds = 50.8;
  const auto found = interference_between(before, after, {2, 8});
  EXPECT_NEAR(found.cpu_seconds, 1.8, 1e-9);
  EXPECT_EQ(found.spoilt_by, "");
}

// Beside eight busy programs, one who starts processes one at a time and waits for each: 0.4 s a
// CPU second, of which the parent shows its own part alone.
TEST(Interference, EndedProcessesWaitedAsLongAsTheyCouldRunAndDidNot) {
  LoadSnapshot before = at(10, 100, 50), after = at(12, 116, 50.4);
  before.has_thread_times = after.has_thread_times = true;
  before.threads = {{7, {5.0, 1.0}}};
  after.threads = {{7, {5.1, 1.3}}};
  before.tree_cpu_seconds = 49;
  after.tree_cpu_seconds = 49.5;
  after.brief = {1.0, {{7, 0.75}}, {{7, 0.2}}, {}};  // looked at for half of the time
  const auto one = interference_between(before, after, {2, 8});
  EXPECT_NEAR(one.cpu_seconds, 0.5, 1e-9);
  EXPECT_NEAR(one.longest_external_wait_seconds, 1.9 - 0.5, 1e-9) << "one chain";
  EXPECT_NEAR(one.external_wait_seconds, 1.4, 1e-9);
  EXPECT_GT(one.observed_seconds, 0);
  after.threads[8] = {0.1, 0.3};  // one that has not ended yet is part of the chain
  after.brief.threads = {8};
  EXPECT_NEAR(interference_between(before, after, {2, 8}).longest_external_wait_seconds, 1.4, 1e-9);
  after.threads.erase(8);
  after.brief.runnable_seconds[7] = 3;  // three at a time: chains of their own
  after.tree_cpu_seconds = 49.7;
  const auto three = interference_between(before, after, {4, 8});
  EXPECT_NEAR(three.longest_external_wait_seconds, (6 - 0.6) / 3, 1e-9);
  EXPECT_NEAR(three.external_wait_seconds, 0.3 + 6 - 0.6, 1e-9);
  after.brief = {};
  EXPECT_EQ(interference_between(before, after, {2, 8}).observed_seconds, 0)
      << "nobody saw what those waited that ran most";
}

TEST(Interference, ThreadsBornAndEnded) {
  LoadSnapshot before = at(10, 100, 50);
  LoadSnapshot after = at(11, 101, 50.5);
  before.threads = {{1, {5.0, 1.0}}};
  after.threads = {{2, {0.9, 0.0}}};
  const auto found = interference_between(before, after, {2, 8});
  EXPECT_NEAR(found.external_cpus, 0.1, 1e-9) << "the greater of thread and process times is own";
  EXPECT_EQ(found.run_queue_wait_share, 0);
}

TEST(Interference, StealSwapAndThrottling) {
  LoadSnapshot after = at(11, 102, 52);
  after.stolen_cpu_seconds = 0.5;
  EXPECT_THAT(interference_between(at(10, 100, 50), after, {2, 8}).spoilt_by,
              HasSubstr("hypervisor"));
  after = at(11, 102, 52);
  after.swapped_pages = 3;
  EXPECT_THAT(interference_between(at(10, 100, 50), after, {2, 8}).spoilt_by, HasSubstr("swapped"));
  after = at(11, 102, 52);
  after.throttled_seconds = 0.3;
  EXPECT_THAT(interference_between(at(10, 100, 50), after, {2, 8}).spoilt_by,
              HasSubstr("throttled"));
  const auto asked_for = interference_between(at(10, 100, 50), after, {16, 8});
  EXPECT_EQ(asked_for.spoilt_by, "") << "a setting above the quota is throttled in real life too";
  EXPECT_NEAR(asked_for.throttled_seconds, 0.3, 1e-12);
}

TEST(Interference, PressureOnlyWithoutThreadTimes) {
  LoadSnapshot after = at(11, 102, 52);
  after.pressure_seconds = 0.5;
  EXPECT_THAT(interference_between(at(10, 100, 50), after, {2, 8}).spoilt_by,
              HasSubstr("pressure"));
  after.has_thread_times = true;
  EXPECT_EQ(interference_between(at(10, 100, 50), after, {2, 8}).spoilt_by, "");
}

TEST(Interference, NoTimeBetween) {
  EXPECT_EQ(interference_between(at(10, 100, 50), at(10, 100, 50), {2, 8}).external_cpus, 0);
}

TEST(LoadSnapshot, ReadsASavedTree) {
  const auto folder = make_temporary_directory("load");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(make_directories(*folder + "/proc/pressure").ok());
  ASSERT_TRUE(
      write_file(*folder + "/proc/stat", "cpu  1000 20 300 5000 60 7 8 90 500 0\ncpu0 1 2 3\n")
          .ok());
  ASSERT_TRUE(write_file(*folder + "/proc/pressure/cpu",
                         "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n"
                         "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n")
                  .ok());
  ASSERT_TRUE(write_file(*folder + "/proc/vmstat", "nr_free 1\npswpin 4\npswpout 3\n").ok());
  ProcessTree tree;
  const LoadSnapshot snapshot = take_load_snapshot(FileRoot(*folder), tree, 5);
  EXPECT_DOUBLE_EQ(snapshot.busy_cpu_seconds, 13.35);
  EXPECT_DOUBLE_EQ(snapshot.stolen_cpu_seconds, 0.9);
  EXPECT_DOUBLE_EQ(snapshot.total_cpu_seconds, 13.35 + 50.6 + 0.9);
  EXPECT_DOUBLE_EQ(snapshot.pressure_seconds, 2.5);
  EXPECT_EQ(snapshot.swapped_pages, 7u);
  EXPECT_TRUE(remove_tree(*folder).ok());
}

}  // namespace
}  // namespace ocrtune
