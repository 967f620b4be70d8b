#include "trial/observe/interference.h"

#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

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

// With the times of its threads, and of a tree that has ended ones as well.
LoadSnapshot timed(LoadSnapshot snapshot, std::map<int, ThreadCounters> threads,
                   double tree_seconds = 0) {
  snapshot.has_thread_times = true;
  snapshot.threads = std::move(threads);
  snapshot.tree_cpu_seconds = tree_seconds;
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
  LoadSnapshot before = timed(at(10, 100, 50), {{1, {5.0, 1.0}}, {2, {5.0, 1.0}}});
  LoadSnapshot after = timed(at(11, 102, 52), {{1, {5.8, 1.2}}, {2, {5.8, 1.2}}});
  const auto within = interference_between(before, after, {2, 8});
  EXPECT_NEAR(within.run_queue_wait_share, 0.2, 1e-9);
  EXPECT_THAT(within.spoilt_by, HasSubstr("waited for a CPU"));
  EXPECT_EQ(interference_between(before, after, {16, 8}).spoilt_by, "")
      << "sixteen threads on eight CPUs wait for each other";
  after.busy_cpu_seconds += 0.09;  // some external load beside it
  EXPECT_NE(interference_between(before, after, {16, 8}).spoilt_by, "");
}

TEST(Interference, WhoSleepsLosesNothingToOthers) {
  // Strangers have all eight CPUs; the tree runs for a hundredth of the second.
  LoadSnapshot before = timed(at(10, 100, 50), {{1, {5.0, 1.0}}});
  LoadSnapshot after = timed(at(11, 108, 50.01), {{1, {5.01, 1.004}}});
  EXPECT_EQ(interference_between(before, after, {1, 8}).spoilt_by, "");
  after.threads = {{1, {5.01, 1.1}}};  // it waited for a tenth of it
  EXPECT_NE(interference_between(before, after, {1, 8}).spoilt_by, "");
  after.threads = {{1, {5.2, 1.004}}};  // or ran for a fifth, beside busy neighbours
  EXPECT_NE(interference_between(before, after, {1, 8}).spoilt_by, "");
}

// As measured of a server that sleeps for 50 ms a request, on a quiet machine.
TEST(Interference, AwakeningsTakeLittleOfTheTimeOfWhoSleeps) {
  LoadSnapshot before = timed(at(10, 100, 50), {{1, {5.0, 1.0}}});
  LoadSnapshot after = timed(at(13.2, 100.2, 50.12), {{1, {5.12, 1.06}}});
  const auto found = interference_between(before, after, {1, 2});
  EXPECT_GT(found.run_queue_wait_share, 0.3);
  EXPECT_EQ(found.spoilt_by, "");
}

TEST(Interference, RanksThatTakeAllCpusWaitForEachOther) {
  // Two ranks of one thread on two CPUs, and the threads that exchange gradients for them.
  LoadSnapshot before = timed(at(10, 100, 50), {{1, {5.0, 1.0}}, {2, {5.0, 1.0}}, {3, {1.0, 0.1}}});
  LoadSnapshot after =
      timed(at(11, 101.9, 51.84), {{1, {5.89, 1.11}}, {2, {5.88, 1.12}}, {3, {1.03, 0.13}}});
  before.total_cpu_seconds = 20;
  after.total_cpu_seconds = 22;
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
  LoadSnapshot before = timed(at(10, 100, 50), {{1, {5.0, 0.0}}}, 49);
  LoadSnapshot after = timed(at(11, 101.9, 51.9), {{1, {5.0, 0.0}}}, 50.8);
  const auto found = interference_between(before, after, {2, 8});
  EXPECT_NEAR(found.cpu_seconds, 1.8, 1e-9);
  EXPECT_EQ(found.spoilt_by, "");
}

// Beside eight busy programs, one who starts processes one at a time and waits for each: 0.4 s a
// CPU second, of which the parent shows its own part alone.
TEST(Interference, EndedProcessesWaitedAsLongAsTheyCouldRunAndDidNot) {
  LoadSnapshot before = timed(at(10, 100, 50), {{7, {5.0, 1.0}}}, 49);
  LoadSnapshot after = timed(at(12, 116, 50.4), {{7, {5.1, 1.3}}}, 49.5);
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
  EXPECT_NEAR(three.longest_external_wait_seconds,
              std::sqrt((6 * 1.8 * 1.8 + 0.4 * 0.3 * 0.3) / 6.4), 1e-9)
      << "of the chains and the parent, by how long each wanted a CPU";
  EXPECT_NEAR(three.external_wait_seconds, 0.3 + 6 - 0.6, 1e-9);
  after.brief = {};
  EXPECT_EQ(interference_between(before, after, {2, 8}).observed_seconds, 0)
      << "nobody saw what those waited that ran most";
}

// Of a shell that starts one page after the other: it waits for most of the little that it does.
TEST(Interference, WhatAParentWaitedIsAPartOfAllThatItsTreeRan) {
  LoadSnapshot before = timed(at(10, 100, 50), {{1, {5.0, 1.0}}}, 49);
  LoadSnapshot after = timed(at(12, 102, 51.95), {{1, {5.01, 1.05}}}, 50.95);
  const auto found = interference_between(before, after, {2, 8});
  EXPECT_NEAR(found.run_queue_wait_share, 0.05 / 2, 1e-9);
  EXPECT_EQ(found.spoilt_by, "");
}

// Two at a time on two CPUs, each with more threads than there are CPUs; strangers have 1 %.
TEST(Interference, NobodyWaitsForStrangersLongerThanTheyRan) {
  LoadSnapshot before = timed(at(10, 100, 50), {{7, {5.0, 1.0}}}, 49);
  LoadSnapshot after = timed(at(12, 103.42, 53.4), {{7, {5.05, 1.0}}}, 52.4);
  before.total_cpu_seconds = 20;
  after.total_cpu_seconds = 24;
  after.brief = {2.0, {{7, 6.5}}, {{7, 0.1}}, {}};
  const auto found = interference_between(before, after, {2, 2});
  EXPECT_LE(found.longest_external_wait_seconds, 0.02 + 0.02 + 1e-9) << "and two ticks";
  EXPECT_EQ(found.spoilt_by, "");
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

// Of a machine of `cpus` CPUs at the end of a window of one second: what was busy, by CPU.
std::pair<LoadSnapshot, LoadSnapshot> second_of(const std::vector<double>& busy) {
  LoadSnapshot before, after;
  before.has_thread_times = after.has_thread_times = true;
  before.seconds = 10;
  after.seconds = 11;
  after.total_cpu_seconds = static_cast<double>(busy.size());
  for (std::size_t cpu = 0; cpu < busy.size(); ++cpu) {
    before.busy_by_cpu[static_cast<int>(cpu)] = 0;
    after.busy_by_cpu[static_cast<int>(cpu)] = busy[cpu];
    after.busy_cpu_seconds += busy[cpu];
  }
  return {before, after};
}

std::shared_ptr<const CpuSet> only(int first, int last) {
  return std::make_shared<const CpuSet>(CpuSet::range(first, last));
}

void add_thread(std::pair<LoadSnapshot, LoadSnapshot>& window, int id, double run, double waited,
                std::shared_ptr<const CpuSet> allowed) {
  window.first.threads[id] = {0, 0};
  window.second.threads[id] = {run, waited, 0, 0, std::move(allowed)};
  window.second.own_cpu_seconds += run;
  window.second.tree_cpu_seconds += run;
}

TEST(Interference, ThreadsOnOneCpuWaitForEachOther) {
  auto window = second_of({1.0, 1.0});  // a stranger has the other CPU
  for (int id = 1; id <= 4; ++id) add_thread(window, id, 0.25, 0.75, only(0, 0));
  const auto found = interference_between(window.first, window.second, {1, 2});
  EXPECT_EQ(found.spoilt_by, "");
  EXPECT_NEAR(found.external_cpus, 0, 1e-9);
  EXPECT_EQ(found.available_cpus, 1);
  EXPECT_LT(found.external_wait_seconds, 0.01);
}

TEST(Interference, StrangersOnCpusThatTheTrialMayNotUseDisturbNobody) {
  auto window = second_of({0.5, 1.0, 1.0, 1.0});
  add_thread(window, 1, 0.5, 0.0, only(0, 0));
  add_thread(window, 2, 0.0, 0.0, only(0, 3));  // a launcher that sleeps
  EXPECT_EQ(interference_between(window.first, window.second, {1, 4}).spoilt_by, "");
  const SmtSiblings siblings({CpuSet({0, 2})});
  const auto beside = interference_between(window.first, window.second, {1, 4, &siblings});
  EXPECT_NEAR(beside.external_cpus, 1, 1e-9) << "half of its core is a stranger's";
  EXPECT_THAT(beside.spoilt_by, HasSubstr("other processes used 1.00 CPUs"));
}

TEST(Interference, AStrangerOnTheSameCpuIsBlamed) {
  auto window = second_of({1.0, 0.0});
  add_thread(window, 1, 0.5, 0.5, only(0, 0));
  const auto found = interference_between(window.first, window.second, {1, 2});
  EXPECT_NEAR(found.external_cpus, 0.5, 1e-9);
  EXPECT_NEAR(found.longest_external_wait_seconds, 0.5, 1e-9);
  EXPECT_NE(found.spoilt_by, "");
}

TEST(LeftToOthers, TakesNarrowMasksFirst) {
  const CpuSeconds left =
      left_to_others({{0, 1.0}, {1, 0.6}}, {{only(0, 1), 0.5}, {only(0, 0), 0.9}, {nullptr, 9}});
  EXPECT_NEAR(left.at(0) + left.at(1), 0.2, 1e-9);
  EXPECT_LT(left.at(0), 0.1);
  EXPECT_NEAR(sum_over(left, CpuSet({1, 7})), left.at(1), 1e-12);
}

TEST(BusyByCpu, ReadsTheLinesOfEachCpu) {
  const CpuSeconds busy = busy_by_cpu(
      "cpu  1 2 3 4 5 6 7 8 9 0\ncpu0 100 0 50 900 9 3 2 0 0 0\ncpu11 7 0 0 1 1 1 1 0\ncpu3 1 2\n"
      "intr 5\n",
      100);
  EXPECT_EQ(busy.size(), 2U);
  EXPECT_NEAR(busy.at(0), 1.55, 1e-12);
  EXPECT_NEAR(busy.at(11), 0.09, 1e-12);
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
