#include "tuner/verdict/held_back.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr double kCpus = 4;
constexpr double kBetweenRepeats = 0.02;

Knobs with(int nproc, int threads, int batch = 8, int workers = 0) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.threads = threads;
  knobs.batch = batch;
  knobs.workers = workers;
  return knobs;
}

// A trial of one thread that is busy all the time, where nothing is to be said but that.
Trial trial(const Knobs& knobs, double rate, double cpus) {
  Trial trial;
  trial.knobs = knobs;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  for (int i = 0; i < 9; ++i) {
    Sample sample = window_of(rate);
    sample.steps = 10;
    sample.interference.observed_seconds = 1;
    sample.interference.cpu_seconds = cpus;
    sample.interference.available_cpus = kCpus;
    trial.samples.push_back(sample);
  }
  trial.threads.alive = 2;
  trial.threads.busy = cpus;
  trial.threads.cpus = cpus;
  trial.threads.runnable = cpus;
  trial.stages.observed_seconds = 9;
  trial.stages.looks = 30;
  trial.stages.allowed_cpus = static_cast<int>(kCpus);
  trial.stages.running_threads = cpus;
  return trial;
}

Trial busy_thread(const Knobs& knobs, double rate) {
  Trial one = trial(knobs, rate, 1);
  one.stages.busiest_thread = one.stages.busiest_process = "reader";
  one.stages.busiest_thread_cpus = one.stages.busiest_thread_share = 0.98;
  one.stages.saturated_threads = 1;
  return one;
}

// Its threads wait in one way for most of the time.
Trial waiting(double StageUse::*how, double threads) {
  Trial one = trial(with(1, 1), 100, 0.2);
  one.stages.*how = threads;
  return one;
}

std::vector<HeldBack> found(const std::vector<Trial>& trials, double cpus = kCpus) {
  return held_back(trials, settings_of(trials, kBetweenRepeats), trials.front().knobs, cpus);
}

std::vector<ReasonCode> causes(const std::vector<Trial>& trials) {
  std::vector<ReasonCode> codes;
  for (const HeldBack& held : found(trials)) codes.push_back(held.cause.code);
  return codes;
}

// A trial that gave no rate in its time was watched all the same.
TEST(HeldBack, TimedOutTrialsAreExplainedByTheLongest) {
  Trial brief = waiting(&StageUse::network_threads, 1), longer = busy_thread(with(1, 2), 100);
  Trial crashed = waiting(&StageUse::sleeping_threads, 1);
  brief.outcome = longer.outcome = Outcome::timed_out;
  crashed.outcome = Outcome::crashed;
  brief.stages.observed_seconds = 5;
  crashed.stages.observed_seconds = 60;
  const auto held = held_back(std::vector<Trial>{brief, longer, crashed}, kCpus, {});
  ASSERT_FALSE(held.empty());
  EXPECT_EQ(held.front().cause.code, ReasonCode::held_by_one_thread);
  EXPECT_THAT(held_back(std::vector<Trial>{crashed}, kCpus, {}), IsEmpty());
}

TEST(HeldBack, OneThreadDoesTheWork) {
  const auto held = found({busy_thread(with(1, 1), 100)});
  ASSERT_EQ(held.size(), 1u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_one_thread));
  EXPECT_EQ(held[0].cause.text(0), "reader");
  EXPECT_DOUBLE_EQ(held[0].cause.number(3), kCpus);
  EXPECT_TRUE(held[0].next.is(ReasonCode::next_untried));
  EXPECT_EQ(held[0].next.text(1), "--nproc 1,2");
}

TEST(HeldBack, WhatWasTriedIsNamedWithWhatItBrought) {
  const auto gained = found({busy_thread(with(1, 1), 100), trial(with(2, 1), 190, 2)});
  ASSERT_FALSE(gained.empty());
  EXPECT_TRUE(gained[0].next.is(ReasonCode::next_brings));
  EXPECT_EQ(gained[0].next.text(1), "nproc=2");
  EXPECT_NEAR(gained[0].next.number(2), 0.9, 0.05);
  const auto vain = found({busy_thread(with(1, 1), 100), trial(with(2, 1), 101, 2)});
  ASSERT_FALSE(vain.empty());
  EXPECT_TRUE(vain[0].next.is(ReasonCode::next_in_vain));
}

TEST(HeldBack, WhatTheTrialsLeaveOpenIsNotCalledVain) {
  const std::vector<Trial> trials = {busy_thread(with(1, 1), 100), trial(with(2, 1), 104, 2)};
  const auto next = [&](double noise) {
    return held_back(trials, settings_of(trials, noise), with(1, 1), kCpus).at(0).next;
  };
  EXPECT_TRUE(next(0.01).is(ReasonCode::next_in_vain));
  EXPECT_TRUE(next(0.1).is(ReasonCode::next_left_open));
}

TEST(HeldBack, ThreadsThatHelpedAreWhatToTryNext) {
  const auto held = found({busy_thread(with(1, 1), 100), trial(with(1, 2), 190, 2)});
  ASSERT_FALSE(held.empty());
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_one_thread));
  EXPECT_EQ(held[0].next.text(1), "threads=2");
  Trial loaded = trial(with(1, 2), 190, 2);
  for (Sample& sample : loaded.samples) sample.interference.spoilt_by = "external_cpus";
  const auto open = found({busy_thread(with(1, 1), 100), loaded});
  ASSERT_FALSE(open.empty());
  EXPECT_EQ(open[0].next.text(1), "--nproc 1,2");
}

TEST(HeldBack, ATrialAloneNeedsNoRate) {
  Trial alone = busy_thread(with(1, 1), 0);
  alone.outcome = Outcome::timed_out;
  alone.samples.clear();
  const auto held = held_back(alone, kCpus, {});
  ASSERT_EQ(held.size(), 1u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_one_thread));
}

TEST(HeldBack, AThreadThatWaitsForAGpuMayTurnInALoop) {
  Trial on_gpu = busy_thread(with(1, 1), 100);
  on_gpu.gpus = {{0, 1, true, 1, 2}};
  EXPECT_THAT(causes({on_gpu}), IsEmpty());
}

// What fewer threads do is not known where all trials had the same.
TEST(HeldBack, AllCpusAreBusyWithThreadsThatTheRunDidNotVary) {
  Trial team = trial(with(1, 4), 100, 3.9);
  team.threads.busy = 4;
  EXPECT_EQ(found({team})[0].next.text(1), "--threads 1,4");
  Trial ranks = trial(with(4, 1), 100, 3.9);
  ranks.threads.busy = 4;
  EXPECT_TRUE(found({ranks})[0].next.is(ReasonCode::next_more_cpus)) << "one thread in each";
  Trial fewer = trial(with(1, 1), 60, 1);
  EXPECT_TRUE(found({team, fewer})[0].next.is(ReasonCode::next_more_cpus));
}

TEST(HeldBack, CpusThatAreAllInUseAreNoSingleThread) {
  Trial all = trial(with(1, 4), 100, 3.9);
  all.stages.saturated_threads = 4;
  EXPECT_THAT(causes({all}), ElementsAre(ReasonCode::held_by_cpus));
  Trial crowd = all;
  crowd.threads.runnable = 16;
  EXPECT_THAT(causes({crowd}), ElementsAre(ReasonCode::oversubscribed));
  EXPECT_TRUE(found({crowd})[0].next.is(ReasonCode::next_fewer_threads));
  crowd.threads.runtimes = {"OpenMP", "ONNX Runtime"};
  const Reason next = found({crowd})[0].next;
  EXPECT_TRUE(next.is(ReasonCode::next_fewer_in_pool)) << "no variable sizes that pool";
  EXPECT_EQ(next.text(1), "intra_op_num_threads");
  EXPECT_EQ(next.text(2), "{threads}");
  Trial few = trial(with(1, 2), 100, 2);
  few.stages.saturated_threads = 2;
  EXPECT_THAT(causes({few}), ElementsAre(ReasonCode::held_by_few_threads));
}

TEST(HeldBack, AMaskBindsBeforeTheMachineDoes) {
  Trial masked = trial(with(1, 4), 100, 1);
  masked.stages.allowed_cpus = 1;
  EXPECT_THAT(causes({masked}), ElementsAre(ReasonCode::held_by_mask));
  masked.stages.allowed_cpus = 0;  // not known
  EXPECT_THAT(causes({masked}), IsEmpty());
}

TEST(HeldBack, TheLogsShareOfDataComesFirst) {
  Trial loads = waiting(&StageUse::sleeping_threads, 1);
  loads.stages.data_share = 0.8;
  loads.stages.disk_threads = 2;
  loads.stages.storage_bytes_per_second = 40e6;
  const auto held = found({loads, trial(with(1, 1, 8, 2), 180, 1)});
  ASSERT_EQ(held.size(), 2u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_data));
  EXPECT_EQ(held[0].next.text(1), "workers=2");
  EXPECT_TRUE(held[1].cause.is(ReasonCode::held_by_disk));
}

TEST(HeldBack, WaitsAreNamedWhereOneKindDominates) {
  const auto alone = [](double StageUse::*how) { return causes({waiting(how, 0.8)}); };
  EXPECT_THAT(alone(&StageUse::sleeping_threads), ElementsAre(ReasonCode::held_by_sleep));
  EXPECT_THAT(alone(&StageUse::network_threads), ElementsAre(ReasonCode::held_by_network));
  EXPECT_THAT(alone(&StageUse::pipe_threads), IsEmpty()) << "whom it waits for is not known";
  Trial starved = waiting(&StageUse::network_threads, 0.8);
  starved.stages.running_threads = 0.9;
  EXPECT_THAT(causes({starved}), IsEmpty()) << "it waits for its child";
  Trial both = waiting(&StageUse::sleeping_threads, 0.8);
  both.stages.network_threads = 0.8;
  EXPECT_THAT(causes({both}), IsEmpty());
  Trial serves = waiting(&StageUse::network_threads, 0.8);
  serves.service.in_flight = 4;
  EXPECT_THAT(causes({serves}), IsEmpty()) << "a server waits for requests";
  Trial unseen = waiting(&StageUse::sleeping_threads, 0.8);
  unseen.stages.looks = 2;
  EXPECT_THAT(causes({unseen}), IsEmpty());
}

TEST(HeldBack, TheDiskIsNamedOnlyWhereItMovesBytes) {
  Trial disk = waiting(&StageUse::disk_threads, 0.7);
  EXPECT_THAT(causes({disk}), IsEmpty());
  disk.stages.written_bytes_per_second = 5e6;
  EXPECT_THAT(causes({disk}), ElementsAre(ReasonCode::held_by_disk));
}

TEST(HeldBack, ALockHasManyWaitersAndFreeCpus) {
  Trial lock = waiting(&StageUse::mutex_threads, 6);
  lock.stages.lock_threads = 6;
  lock.stages.sleeping_threads = 1;
  EXPECT_THAT(causes({lock}), ElementsAre(ReasonCode::held_by_lock));
  lock.stages.mutex_threads = 0;  // a pool that waits for work
  EXPECT_THAT(causes({lock}), IsEmpty());
}

// Whom the lock wakes cannot run at once: many threads are runnable although one CPU is enough.
TEST(HeldBack, ALockIsNoCrowdWhereOtherLoadHasTheCpus) {
  Trial lock = trial(with(1, 6), 100, 0.9);
  lock.threads.runnable = 7;
  lock.stages.running_threads = 3.5;
  lock.stages.mutex_threads = lock.stages.lock_threads = 2.5;
  lock.stages.sleeping_threads = 1;
  EXPECT_THAT(causes({lock}), ElementsAre(ReasonCode::held_by_lock));
  lock.stages.mutex_threads = lock.stages.lock_threads = 1.2;  // few CPUs are left for them
  lock.threads.cpus = 0.4;
  EXPECT_THAT(causes({lock}), ElementsAre(ReasonCode::held_by_lock));
  lock.stages.busiest_process = "python3.11";
  EXPECT_THAT(causes({lock}), ElementsAre(ReasonCode::held_by_interpreter));
  lock.stages.sleeping_threads = 4;
  EXPECT_THAT(causes({lock}), Not(Contains(ReasonCode::held_by_interpreter)));
  lock.stages.sleeping_threads = 1;
  lock.stages.mutex_threads = lock.stages.lock_threads = 0.7;  // too few to be sure of the lock
  EXPECT_THAT(causes({lock}), IsEmpty());
  Trial crowd = lock;
  crowd.threads.cpus = kCpus;
  EXPECT_THAT(causes({crowd}), ElementsAre(ReasonCode::oversubscribed));
}

TEST(HeldBack, AProgramForEachPageRunsOneAfterAnother) {
  Trial script = trial(with(1, 1), 3, 0.9);
  script.stages.child_threads = 1;
  script.stages.starts_per_second = 3;
  EXPECT_THAT(causes({script}), ElementsAre(ReasonCode::held_by_one_process));
  Trial pool = script;  // two at a time
  pool.threads.runnable = pool.threads.cpus = 1.9;
  EXPECT_THAT(causes({pool}), IsEmpty());
  script.stages.starts_per_second = 0.1;  // slow pages, watched for long
  script.stages.observed_seconds = 60;
  EXPECT_THAT(causes({script}), ElementsAre(ReasonCode::held_by_one_process));
  script.stages.starts_per_second = 0;  // a launcher that waits for its one rank
  EXPECT_THAT(causes({script}), IsEmpty());
}

TEST(HeldBack, WhoWaitsForAnotherProcessOfThemIsNoCause) {
  Trial asks = waiting(&StageUse::sleeping_threads, 0.9);
  asks.stages.pipe_threads = 1;
  EXPECT_THAT(causes({asks}), IsEmpty()) << "whom it waits for is not known";
  asks.stages.fed_threads = 1;
  EXPECT_THAT(causes({asks}), ElementsAre(ReasonCode::held_by_sleep));
}

TEST(HeldBack, ThreadsThatTakeTurnsRunLikeOne) {
  Trial turns = trial(with(1, 4), 100, 1);
  turns.threads.busy = 4;
  turns.stages.busiest_thread_share = 0.3;
  turns.stages.lock_threads = 3;
  turns.stages.busiest_process = "reader";
  EXPECT_THAT(causes({turns}), ElementsAre(ReasonCode::held_by_turns));
  turns.stages.busiest_process = "python3";
  EXPECT_THAT(causes({turns}), ElementsAre(ReasonCode::held_by_interpreter));
  turns.threads.cpus = 0.1;  // other load has the CPUs
  turns.threads.busy = 0;
  turns.threads.runnable = turns.stages.running_threads = 1.2;
  turns.stages.busiest_thread_share = 0.1;
  ASSERT_THAT(causes({turns}), ElementsAre(ReasonCode::held_by_interpreter));
  EXPECT_NEAR(found({turns})[0].cause.number(0), 4.2, 0.01);
  turns.stages.lock_threads = 0;
  EXPECT_THAT(causes({turns}), IsEmpty());
}

TEST(HeldBack, ProcessesThatOtherLoadKeepsFromTheirCpusTakeNoTurns) {
  Trial starved = trial(with(1, 1), 100, 0.7);  // two processes; a third waits for their results
  starved.threads.busy = 2.5;
  starved.threads.runnable = 1.5;
  starved.stages.busiest_thread_share = 0.6;
  starved.stages.busiest_process = "python3";
  starved.stages.pipe_threads = 1;
  starved.stages.busiest_process_cpus = 0.7;
  EXPECT_THAT(causes({starved}), ElementsAre(ReasonCode::held_by_interpreter)) << "one process";
  starved.stages.busiest_process_cpus = 0.35;
  EXPECT_THAT(causes({starved}), IsEmpty());
  Trial alternate = starved;  // each waits for the other, and a CPU is free
  alternate.threads.cpus = 1;
  alternate.threads.runnable = 1.1;
  alternate.stages.busiest_process_cpus = 0.5;
  EXPECT_THAT(causes({alternate}), ElementsAre(ReasonCode::held_by_interpreter));
}

TEST(HeldBack, AKnobThatTheCommandIgnoresIsNoFlagToTry) {
  const std::vector<Trial> trials = {busy_thread(with(1, 1), 100)};
  const auto held = held_back(trials, settings_of(trials, kBetweenRepeats), with(1, 1), kCpus,
                              {"nproc", "workers"});
  ASSERT_EQ(held.size(), 1u);
  EXPECT_TRUE(held[0].next.is(ReasonCode::next_in_command));
  EXPECT_EQ(held[0].next.text(1), "{nproc}");
}

TEST(HeldBack, PageFaultsMustCostSomething) {
  Trial faults = busy_thread(with(1, 1), 100);
  faults.stages.system_share = 0.6;
  EXPECT_THAT(causes({faults}), ElementsAre(ReasonCode::held_by_one_thread));
  faults.stages.minor_faults_per_second = 400e3;
  EXPECT_THAT(causes({faults}),
              ElementsAre(ReasonCode::held_by_faults, ReasonCode::held_by_one_thread));
}

TEST(HeldBack, ThreadsThatSpinTakeTimeAndBringNothing) {
  EXPECT_THAT(causes({busy_thread(with(1, 1), 100), trial(with(1, 2), 101, 2)}),
              ElementsAre(ReasonCode::held_by_one_thread, ReasonCode::held_by_spin));
  EXPECT_THAT(causes({busy_thread(with(1, 1), 100), trial(with(1, 2), 101, 1)}),
              ElementsAre(ReasonCode::held_by_one_thread))
      << "threads that are not there";
  Trial asks = waiting(&StageUse::network_threads, 0.9), more = asks;  // CPU time by chance
  more.knobs.threads = 2;
  for (Sample& sample : more.samples) sample.interference.cpu_seconds = 0.4;
  EXPECT_THAT(causes({asks, more}), ElementsAre(ReasonCode::held_by_network));
  EXPECT_THAT(causes({trial(with(1, 2), 190, 2), busy_thread(with(1, 1), 100)}), IsEmpty())
      << "threads that help";
}

TEST(HeldBack, TheSerialShareIsAmdahls) {
  // 80 % serial: twice the threads make 100 out of 100 + 20 / 2 - 20.
  const auto held = found({trial(with(1, 2), 111, 1.11), busy_thread(with(1, 1), 100)});
  ASSERT_EQ(held.size(), 1u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_serial_share));
  EXPECT_NEAR(held[0].cause.number(0), 0.8, 0.05);
  EXPECT_EQ(held[0].cause.text(1), "threads=1");
  // A gain within the noise may be none at all: of a program that does not heed the knob.
  EXPECT_THAT(causes({trial(with(1, 2), 103, 0.7), trial(with(1, 1), 100, 0.7)}), IsEmpty());
}

TEST(HeldBack, StartUpIsWhatABatchDoesNotChange) {
  // A run of 8 pages takes 4 s, one of 16 pages 4.8 s: 3.2 s of them whatever the pages.
  Trial eight = trial(with(1, 1, 8), 2, 0.9), sixteen = trial(with(1, 1, 16), 16 / 4.8, 0.9);
  eight.stages.starts_per_second = 0.25;
  const auto held = found({eight, sixteen});
  ASSERT_EQ(held.size(), 1u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_start));
  EXPECT_NEAR(held[0].cause.number(0), 0.8, 0.01);
  EXPECT_NEAR(held[0].cause.number(1), 3.2, 0.1);
  eight.stages.starts_per_second = 0;  // one process for all of them
  EXPECT_THAT(causes({eight, sixteen}), IsEmpty());
}

TEST(HeldBack, RatesThatFallMustDoSoSurely) {
  Trial falling = trial(with(1, 1), 80, 0.5), uneven = falling;
  for (std::size_t i = 0; i < falling.samples.size(); ++i) {
    falling.samples[i].samples = 100 - 5 * static_cast<double>(i);
    uneven.samples[i].samples = i == 0 ? 200 : 80;
  }
  falling.stages.first_rate = uneven.stages.first_rate = 95;
  falling.stages.last_rate = uneven.stages.last_rate = 65;
  EXPECT_THAT(causes({falling}), ElementsAre(ReasonCode::rate_falls));
  EXPECT_THAT(causes({uneven}), IsEmpty());
}

TEST(HeldBack, FilesThatWereInMemoryAreNamed) {
  Trial reads = trial(with(1, 1), 100, 0.5);
  reads.stages.opened_bytes = 200'000'000;
  reads.stages.read_bytes_per_second = 100e6;
  EXPECT_THAT(causes({reads}), ElementsAre(ReasonCode::reads_from_memory));
  reads.stages.storage_bytes_per_second = 30e6;
  EXPECT_THAT(causes({reads}), IsEmpty());
}

// A pass over a large set takes longer than a trial; one of small files has few bytes.
TEST(HeldBack, SetsOfManyFilesThatWereInMemoryAreNamed) {
  Trial reads = trial(with(1, 1), 100, 0.5);
  reads.stages.opened_bytes = 60'000'000'000;
  reads.stages.read_bytes_per_second = 5e6;
  EXPECT_THAT(causes({reads}), IsEmpty()) << "a file may be open and not be read";
  reads.stages.opened_count = 500;
  EXPECT_THAT(causes({reads}), ElementsAre(ReasonCode::reads_from_memory));
  reads.stages.opened_bytes = 16'000'000;
  EXPECT_THAT(causes({reads}), IsEmpty());
  reads.stages.opened_count = 2000;
  EXPECT_THAT(causes({reads}), ElementsAre(ReasonCode::reads_from_memory));
  reads.stages.read_bytes_per_second = 0.1e6;
  EXPECT_THAT(causes({reads}), IsEmpty());
}

TEST(HeldBack, FilesInMemoryAreNamedBesideAFallOfTheRate) {
  Trial falling = trial(with(1, 1), 80, 0.5);
  for (std::size_t i = 0; i < falling.samples.size(); ++i) {
    falling.samples[i].samples = 100 - 5 * static_cast<double>(i);
  }
  falling.stages.first_rate = 95;
  falling.stages.last_rate = 65;
  falling.stages.opened_bytes = 200'000'000;
  falling.stages.read_bytes_per_second = 100e6;
  EXPECT_THAT(causes({falling}),
              ElementsAre(ReasonCode::reads_from_memory, ReasonCode::rate_falls));
}

TEST(HeldBack, FilesThatOneTrialOfASettingShowedAreNamed) {
  Trial unseen = trial(with(1, 1), 100, 0.5), seen = unseen, other = trial(with(1, 2), 100, 0.5);
  unseen.stages.observed_seconds = 20;
  seen.stages.opened_bytes = other.stages.opened_bytes = 120'000'000;
  seen.stages.opened_count = other.stages.opened_count = 2000;
  seen.stages.read_bytes_per_second = other.stages.read_bytes_per_second = 10e6;
  EXPECT_THAT(causes({unseen, seen}), ElementsAre(ReasonCode::reads_from_memory));
  EXPECT_THAT(causes({unseen, other}), IsEmpty());
}

TEST(HeldBack, FilesLargerThanMemoryAreReadFromTheDiskInEveryEpoch) {
  Trial reads = trial(with(1, 1), 100, 0.5);
  reads.stages.opened_bytes = 60'000'000'000;
  reads.stages.read_bytes_per_second = 50e6;
  const std::vector<Trial> trials = {reads};
  const auto next = [&](double memory_bytes) {
    const auto held = held_back(trials, settings_of(trials, kBetweenRepeats), reads.knobs, kCpus,
                                {}, {}, memory_bytes);
    return held.empty() ? Reason() : held[0].next;
  };
  ASSERT_TRUE(next(16e9).is(ReasonCode::next_beyond_memory));
  EXPECT_DOUBLE_EQ(next(16e9).number(0), 60e9);
  EXPECT_TRUE(next(64e9).is(ReasonCode::next_cold_pass));
  EXPECT_TRUE(next(0).is(ReasonCode::next_cold_pass));
}

TEST(HeldBack, ThreadsThatAskInALoopAreNotAtWork) {
  Trial asks = busy_thread(with(1, 2), 100);
  asks.stages.running_threads = asks.threads.runnable = asks.threads.cpus = 2;
  asks.stages.saturated_threads = 2;
  EXPECT_THAT(causes({asks}), ElementsAre(ReasonCode::held_by_few_threads));
  asks.stages.asking_threads = 1;
  EXPECT_THAT(causes({asks}), ElementsAre(ReasonCode::held_by_asking));
  Trial reads = asks;
  reads.stages.read_bytes_per_second = 2e9;
  EXPECT_THAT(causes({reads}), ElementsAre(ReasonCode::held_by_few_threads));
  asks.stages.running_threads = 64;
  EXPECT_THAT(causes({asks}), Not(Contains(ReasonCode::held_by_asking)));
}

TEST(HeldBack, GpusThatWaitForTheCpuSide) {
  Trial on_gpu = busy_thread(with(1, 1), 100);
  on_gpu.gpus = {{0, 1, true, 1, 2, 0.3}, {1, 0, false, 1, 2, 0}};
  const auto held = found({on_gpu});
  ASSERT_EQ(held.size(), 1u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_cpu_side));
  EXPECT_DOUBLE_EQ(held[0].cause.number(0), 0.3);
  on_gpu.service.in_flight = 4;
  EXPECT_THAT(causes({on_gpu}), IsEmpty());
  on_gpu.service.in_flight = 0;
  on_gpu.gpus[0].busy_share = 0.95;
  EXPECT_THAT(causes({on_gpu}), IsEmpty());
  on_gpu.gpus[0].busy_share = -1;
  EXPECT_THAT(causes({on_gpu}), IsEmpty());
}

TEST(HeldBack, MemoryOfAnotherNodeIsNamed) {
  Trial remote = trial(with(1, 4), 100, 4);
  remote.stages.saturated_threads = 4;
  remote.stages.remote_share = 0.9;
  remote.stages.memory_nodes = "1";
  remote.stages.thread_nodes = "0";
  const auto held = found({remote});
  ASSERT_EQ(held.size(), 2u);
  EXPECT_TRUE(held[0].cause.is(ReasonCode::held_by_remote_memory));
  EXPECT_EQ(held[0].next.text(0), "0");
  EXPECT_TRUE(held[1].cause.is(ReasonCode::held_by_cpus));
  remote.stages.remote_share = 0.2;
  EXPECT_THAT(causes({remote}), ElementsAre(ReasonCode::held_by_cpus));
}

// Ten threads in each batch and one between batches: the mean wants hardly more than the CPUs.
TEST(HeldBack, ThreadsThatCrowdAtTimes) {
  Trial bursts = trial(with(1, 10), 100, 3.2);
  bursts.threads.busy = 10;
  bursts.threads.runnable = 4.6;
  EXPECT_THAT(causes({bursts}), ElementsAre(ReasonCode::oversubscribed_at_times));
  Trial loaded = bursts;
  for (Sample& sample : loaded.samples) sample.interference.spoilt_by = "external_cpus";
  EXPECT_THAT(causes({loaded}), Not(Contains(ReasonCode::oversubscribed_at_times)));
  bursts.threads.busy = 4;
  EXPECT_THAT(causes({bursts}), Not(Contains(ReasonCode::oversubscribed_at_times)));
}

TEST(HeldBack, ATrialFromTheDiskSaysWhatAFirstEpochMakes) {
  Trial reads = trial(with(1, 1), 100, 0.5);
  reads.stages.opened_bytes = 200'000'000;
  reads.stages.read_bytes_per_second = 100e6;
  const std::vector<Trial> trials = {reads};
  const auto next = [&](const std::vector<Trial>& cold) {
    const auto held =
        held_back(trials, settings_of(trials, kBetweenRepeats), reads.knobs, kCpus, {}, cold);
    return held.empty() ? Reason() : held[0].next;
  };
  EXPECT_TRUE(next({}).is(ReasonCode::next_cold_pass));
  EXPECT_TRUE(next({reads}).is(ReasonCode::next_cold_pass)) << "the files were still in memory";
  Trial unseen = reads;  // its files were open for too short a time to be seen again
  unseen.stages.opened_bytes = 0;
  EXPECT_TRUE(next({unseen}).is(ReasonCode::next_cold_pass));
  Trial cold = trial(with(1, 1), 40, 0.3);
  cold.stages.storage_bytes_per_second = 40e6;
  ASSERT_TRUE(next({cold}).is(ReasonCode::next_cold_slower));
  EXPECT_DOUBLE_EQ(next({cold}).number(0), 40);
  EXPECT_DOUBLE_EQ(next({cold}).number(1), 100);
  EXPECT_DOUBLE_EQ(next({cold}).number(2), 40e6);
  cold.samples_per_second = 97;
  EXPECT_TRUE(next({cold}).is(ReasonCode::next_cold_alike));
  for (Sample& sample : cold.samples) sample.interference.spoilt_by = "external_cpus";
  EXPECT_TRUE(next({cold}).is(ReasonCode::next_cold_pass)) << "other load may have slowed it";
  Trial after = reads;  // right after it, beside the same load
  for (Sample& sample : after.samples) sample.samples = 50;
  ASSERT_TRUE(next({cold, after}).is(ReasonCode::next_cold_slower));
  EXPECT_DOUBLE_EQ(next({cold, after}).number(0), 40);
  EXPECT_DOUBLE_EQ(next({cold, after}).number(1), 50);
  cold.knobs = with(2, 1);
  EXPECT_TRUE(next({cold}).is(ReasonCode::next_cold_pass)) << "of another setting";
}

TEST(HeldBack, NothingIsSaidOfTrialsThatNobodyWatched) {
  Trial unseen = busy_thread(with(1, 1), 100);
  unseen.threads = {};
  EXPECT_THAT(causes({unseen}), IsEmpty());
  EXPECT_THAT(found({busy_thread(with(1, 1), 100)}, 0), IsEmpty());
}

// More threads are asked for than its launcher allows; the setting that it allows looks untouched.
TEST(HeldBack, ALauncherThatSetsThePoolIsNamed) {
  Trial one = busy_thread(with(1, 1), 100), four = busy_thread(with(1, 4), 101);
  one.stages.busiest_process_cpus = four.stages.busiest_process_cpus = 0.98;
  EXPECT_THAT(causes({one, four}), ElementsAre(ReasonCode::held_by_one_thread));
  four.stages.launcher_set = {{"OMP_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}};
  for (const auto& trials : {std::vector<Trial>{one, four}, std::vector<Trial>{four, one}}) {
    const auto held = found(trials);
    ASSERT_EQ(held.size(), 1U);
    ASSERT_TRUE(held[0].cause.is(ReasonCode::held_by_launcher));
    EXPECT_EQ(held[0].cause.text(0), "OMP_NUM_THREADS=1");
    EXPECT_TRUE(held[0].next.is(ReasonCode::next_in_launcher));
  }
  one.stages.busiest_process_cpus = four.stages.busiest_process_cpus = 0.4;
  EXPECT_THAT(causes({one, four}), ElementsAre(ReasonCode::held_by_launcher))
      << "other load has a part of its CPU";
  four.stages.launcher_set = {{"OMP_NUM_THREADS", "8"}};
  EXPECT_THAT(causes({four, one}), ElementsAre(ReasonCode::held_by_one_thread))
      << "its pool has room";
}

}  // namespace
}  // namespace ocrtune
