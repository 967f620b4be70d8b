// How a run ended: by the word of what started it, by its own, and of whom.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/advice.h"
#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

const std::string kSteps =
    "step 10 loss 2.3\nstep 20 loss 2.2\nstep 30 loss 2.1\nstep 40 loss 2.0\n";

TEST(Ends, WhatStartedTheRunSaysThatItFailed) {
  for (const char* verdict :
       {"srun: error: gpu03: task 5: Exited with exit code 1",
        "make: *** [Makefile:12: train] Error 2", "ninja: build stopped: subcommand failed.",
        "npm ERR! errno 1", "Exiting because a job execution failed. Look above",
        "mpirun detected that one or more processes exited with non-zero status"}) {
    EXPECT_TRUE(diagnose_text(kSteps + verdict + "\n").failed) << verdict;
  }
  EXPECT_FALSE(diagnose_text(kSteps + "make: *** [clean] Error 1 (ignored)\n").failed);
}

// Ranks that end one after the other lose one another.
TEST(Ends, AWarningBehindTheEndIsOfTheTakingDown) {
  const std::string lost =
      "[rank1]:[W1129 10:00:04.1 TCPStore.cpp:125] recvValue failed on SocketImpl(fd=4): failed to "
      "recv, got 0 bytes\n";
  EXPECT_FALSE(diagnose_text(kSteps + "Training finished.\n" + lost).failed);
  EXPECT_TRUE(diagnose_text(kSteps + lost).failed);
  EXPECT_TRUE(diagnose_text(kSteps + "Training finished.\n" +
                            "OSError: [Errno 28] No space left on device: 'last.pth'\n")
                  .failed);
}

TEST(Ends, APageThatIsPassedOverIsNoFailure) {
  const std::string page =
      "[ WARN:0@2.310] global loadsave.cpp:268 findDecoder imread_('in/notes.txt'): can't "
      "open/read file: check file path/integrity\n";
  EXPECT_FALSE(diagnose_text(page + "120 pages, 0 failed, 1 skipped, 3.2 pages/s\n").failed);
  EXPECT_FALSE(diagnose_text(page + "Finished: 120 pages, 1 skipped\n").failed);
  EXPECT_TRUE(diagnose_text(
                  page +
                  "Traceback (most recent call last):\n  File \"read.py\", line 9, in <module>\n"
                  "cv2.error: OpenCV(4.9.0) (-215:Assertion failed) !_src.empty() in 'cvtColor'\n")
                  .failed);
}

TEST(Ends, ALauncherNamesTheRankThatFailedFirst) {
  for (const char* line : {"srun: error: c12: task 5: Illegal instruction (core dumped)",
                           "srun: error: c12: task 5: Segmentation fault"}) {
    const Diagnosis found =
        diagnose_text(kSteps + line + "\nsrun: error: c12: task 4: Terminated\n");
    ASSERT_FALSE(found.story.empty()) << line;
    EXPECT_THAT(found.story[0].ranks, testing::ElementsAre(5)) << line;
  }
}

// torchrun keeps two files for each rank, where a host has folders of its own.
TEST(Ends, TwoFilesOfOneFolderAreOneRanks) {
  const std::string full = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  const auto story = [&](const std::string& first, const std::string& second) {
    return diagnose({scan_text(first + "/3/stdout.log", kSteps),
                     scan_text(second + "/3/stderr.log", full)},
                    {})
        .story;
  };
  const auto one = story("run/attempt_0", "run/attempt_0");
  ASSERT_FALSE(one.empty());
  EXPECT_THAT(one[0].ranks, testing::ElementsAre(3));
  for (const StoryEvent& event : story("node0", "node1")) EXPECT_TRUE(event.ranks.empty());
}

// Data was on its way to a rank that had failed by then.
TEST(Ends, AConnectionBreaksWhereItsPeerHasFailed) {
  const auto first = [](const char* time) {
    return scan_text("rank2.log",
                     std::string("2026-03-01 18:") + time +
                         " node0:41:77 NCCL WARN NET/IB : Got completion from peer 10.0.0.12 with "
                         "status=12 opcode=0 len=0 vendor err 129\n");
  };
  const LogScan other = scan_text(
      "rank5.log",
      "2026-03-01 18:33:48 OSError: [Errno 116] Stale file handle: '/mnt/nfs/lines/7.jpg'\n");
  const Diagnosis later = diagnose({other, first("34:02")}, {});
  EXPECT_EQ(later.causes[0].row->name, std::string("storage_failure"));
  for (std::size_t i = 1; i < later.causes.size(); ++i) {
    const Cause& cause = later.causes[i];
    EXPECT_TRUE(cause.follows || cause.confidence < 0.4) << cause.row->name;
  }
}

TEST(Ends, AdviceIsOfTheWordsOfTheLine) {
  const auto first_fix = [](const char* line) {
    const Diagnosis found = diagnose_text(line);
    return found.causes.empty() || found.causes[0].fixes.empty() ? "" : found.causes[0].fixes[0];
  };
  EXPECT_THAT(first_fix("Error response from daemon: toomanyrequests: You have reached your "
                        "unauthenticated pull rate limit.\n"),
              testing::HasSubstr("docker login"));
  EXPECT_THAT(first_fix("lmdb.CorruptedError: mdb_get: MDB_CORRUPTED: Located page was wrong\n"),
              testing::HasSubstr("mdb_stat"));
}

// A limit of time is where the run ended; the heat that slowed it says why.
TEST(Ends, WhatSlowedARunStandsBesideItsLimitOfTime) {
  std::string steps;
  for (int i = 1; i <= 40; ++i) {
    steps += fmt::format("epoch 1 batch {}/900 loss 0.5 ({} s/batch)\n", i, i < 20 ? 0.2 : 1.5);
  }
  const std::string hot = "smi: NVIDIA A10, 93, 210 MHz, 28.1 W, 0x0000000000000060\n";
  const std::string limit = "slurmstepd: error: *** JOB 7 ON a CANCELLED AT X DUE TO TIME LIMIT\n";
  const Diagnosis found = diagnose_text(steps + hot + limit);
  ASSERT_GE(found.causes.size(), 3U);
  EXPECT_STREQ(found.causes[0].row->name, "time_limit");
  EXPECT_STREQ(found.causes[1].row->name, "gpu_throttled");
  EXPECT_STREQ(found.causes[2].row->name, "throughput_fell");
  EXPECT_THAT(found.causes[0].fixes.at(0), testing::HasSubstr("what slowed the run"));
  FailureEvidence timeout;
  timeout.exit_code = 124;
  const Diagnosis on_cpu = diagnose_text(
      "arguments: --device cuda\nCUDA is not available, using the CPU\npage 1\n", timeout);
  ASSERT_GE(on_cpu.causes.size(), 2U);
  EXPECT_STREQ(on_cpu.causes[0].row->name, "time_limit");
  EXPECT_STREQ(on_cpu.causes[1].row->name, "runs_on_cpu");
  EXPECT_THAT(on_cpu.causes[0].fixes.at(0), testing::HasSubstr("what slowed the run"));
  const std::string cool = "smi: NVIDIA A10, 61, 1710 MHz, 69.8 W, 0x0000000000000004\n";
  EXPECT_EQ(diagnose_text(cool + limit).causes.size(), 1U);
}

}  // namespace
}  // namespace ocrtune
