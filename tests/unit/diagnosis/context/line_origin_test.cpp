#include "diagnosis/context/line_origin.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// srun -l, mpirun, torchrun --tee, loggers, compose.
TEST(LineOrigin, NamesTheRankInEveryPrefixInUse) {
  const std::string text = "ValueError: x";
  for (const char* prefix :
       {"[rank3]: ", "[rank3] ", "3: ", " 3: ", "[1,3]<stderr>:", "[3]: ", "[3]:", "[default3]:",
        "[Rank 3] ", "rank=3 ", "rank 3: ", "[gpu3] ", "trainer-3  | ", "trainer-3 / "}) {
    const std::string line = prefix + text;
    const LineOrigin origin = origin_of(line);
    EXPECT_EQ(origin.rank, 3) << prefix;
    EXPECT_EQ(origin.text, text) << prefix;
  }
}

// Ray, kubectl --prefix, stern, docker compose: a process, whose rank nobody knows.
TEST(LineOrigin, NamesTheProcessWhereItHasNoRank) {
  for (const auto& [line, actor] :
       {std::pair<const char*, const char*>("(RayTrainWorker pid=3, ip=10.0.0.3) ValueError: x",
                                            "RayTrainWorker pid=3, ip=10.0.0.3"),
        {"[pod/ocr-worker-1/main] ValueError: x", "ocr-worker-1"},
        {"ocr-worker-1 main ValueError: x", "ocr-worker-1"},
        {"(pid=771) ValueError: x", "pid=771"},
        {"[2026-03-02 10:00:02,136: ERROR/ForkPoolWorker-3] ValueError: x", "ForkPoolWorker-3"},
        {"[2026-03-02 10:00:02,136: ERROR/MainProcess] ValueError: x", ""},
        {"ocr-1  | [2026-03-02 10:00:02,136: ERROR/ForkPoolWorker-3] ValueError: x",
         "ForkPoolWorker-3"},
        {"ocr-api  | ValueError: x", "ocr-api"}}) {
    const LineOrigin origin = origin_of(line);
    EXPECT_EQ(origin.actor, actor) << line;
    EXPECT_EQ(origin.text, "ValueError: x") << line;
    EXPECT_FALSE(origin.rank) << line;
  }
}

TEST(LineOrigin, ATaskOfRayIsNamedInItsCallersLine) {
  EXPECT_EQ(origin_of("ray.exceptions.RayTaskError(ValueError): ray::Reader.read() (pid=43, ip=10)")
                .actor,
            "Reader pid=43");
}

TEST(LineOrigin, NumbersThatAreNoRank) {
  for (const char* line :
       {"[1]  + 411 killed     python train.py", "[2024-05-14 06:59:56 +0000] [41207] [ERROR] x",
        "3: 0x7f00aa in main", "pair_rank = 0", "drank 3 cups"}) {
    EXPECT_FALSE(origin_of(line).rank) << line;
  }
}

TEST(LineOrigin, RanksWithinALine) {
  EXPECT_EQ(rank_of_line("[E ProcessGroupNCCL.cpp:821] [Rank 3] Watchdog caught"), 3);
  EXPECT_EQ(rank_of_line("2024-11-02 21:00:10 INFO [rank 0] building"), 0);
  EXPECT_EQ(rank_of_line("  what():  [pair.cc:598] TIMEOUT self_rank = 1 pair_rank = 0"), 1);
}

TEST(LineOrigin, FilesNameTheirRank) {
  for (const char* path : {"log/workerlog.3", "a/rank_3.txt", "rank3.log", "worker-3.log", "log.3",
                           "exp2_rank5.log", "node3-rank1.log", "attempt_0_rank_3_stdout.log",
                           "attempt_0/3/stderr.log", "slurm-1234-3.out"}) {
    EXPECT_TRUE(rank_of_file(path)) << path;
  }
  EXPECT_EQ(rank_of_file("a/rank_07.txt"), 7);
  EXPECT_EQ(rank_of_file("node3-rank1.log"), 1);
  EXPECT_EQ(rank_of_file("slurm-1234-3.out"), 3);
  EXPECT_EQ(rank_of_file("attempt_0/5/stderr.log"), 5);
  for (const char* path : {"node1.log", "trainer01.log", "train-2025.log", "train.log",
                           "/dev/fd/63", "18/train.log", "logs/2026/30/dmesg.txt"}) {
    EXPECT_FALSE(rank_of_file(path)) << path;
  }
}

TEST(LineOrigin, AHeadingOfTailNamesTheFileWhoseLinesFollow) {
  EXPECT_EQ(heading_of("==> node-a.log <=="), "node-a.log");
  EXPECT_EQ(heading_of("=> 12"), "");
}

}  // namespace
}  // namespace ocrtune
