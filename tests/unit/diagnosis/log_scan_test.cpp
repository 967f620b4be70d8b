#include "diagnosis/log_scan.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "diagnosis/context/line_origin.h"
#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

const Finding* find(const LogScan& scan, const std::string& id) {
  for (const Finding& finding : scan.findings) {
    if (id == finding.signature->id) return &finding;
  }
  return nullptr;
}

const char* const kKilledWorker = "DataLoader process (pid 77) exited is killed by signal: Killed.";

TEST(LogScan, FindsTheLineInAnyLineEnding) {
  for (const std::string end : {"\n", "\r\n"}) {
    const LogScan scan = scan_text("x", "one" + end + "two" + end + kKilledWorker + end);
    const Finding* finding = find(scan, "worker_sigkill");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->first.number, 3);
    EXPECT_EQ(finding->first.text, kKilledWorker);
    EXPECT_THAT(finding->subjects, testing::ElementsAre("77"));
  }
}

TEST(LogScan, ALastLineWithoutItsEndCounts) {
  const LogScan scan = scan_text("x", std::string("one\n") + kKilledWorker);
  EXPECT_NE(find(scan, "worker_sigkill"), nullptr);
  EXPECT_EQ(scan.lines, 2);
}

TEST(LogScan, ProgressBarsDoNotCountAsLines) {
  const LogScan scan =
      scan_text("x", std::string("train:  1%| 1it/s\rtrain:  2%| 1it/s\r") + kKilledWorker + "\n");
  ASSERT_NE(find(scan, "worker_sigkill"), nullptr);
  EXPECT_EQ(find(scan, "worker_sigkill")->first.number, 1);
  EXPECT_EQ(scan.progress_lines, 2);
}

TEST(LogScan, ColoursAndBadBytesDoNotHide) {
  const LogScan scan =
      scan_text("x", "\x1b[31mCUDA out\x1b[0m of memory\n\xff\xfe\x80 [Errno 28] \xc3\x28\n");
  EXPECT_NE(find(scan, "gpu_oom"), nullptr);
  const Finding* full = find(scan, "enospc");
  ASSERT_NE(full, nullptr);
  EXPECT_THAT(full->first.text, testing::HasSubstr("\xEF\xBF\xBD"));
}

TEST(LogScan, PiecesOfAnySizeGiveTheSame) {
  const std::string text = std::string("a\nb\r\n") + kKilledWorker + "\nCUDA out of memory\n";
  for (std::size_t piece : {1u, 2u, 7u, 64u}) {
    LogScanner scanner("x");
    for (std::size_t i = 0; i < text.size(); i += piece) scanner.feed(text.substr(i, piece));
    const LogScan scan = scanner.finish();
    ASSERT_NE(find(scan, "worker_sigkill"), nullptr) << piece;
    EXPECT_EQ(find(scan, "worker_sigkill")->first.number, 3) << piece;
    EXPECT_EQ(find(scan, "gpu_oom")->first.number, 4) << piece;
    EXPECT_EQ(scan.lines, 4) << piece;
  }
}

TEST(LogScan, ALineOfAMegabyteIsSearchedThrough) {
  std::string text(1 << 20, 'x');
  text.replace(700000, 18, "CUDA out of memory");
  const LogScan scan = scan_text("x", text);
  EXPECT_NE(find(scan, "gpu_oom"), nullptr);
  EXPECT_LE(find(scan, "gpu_oom")->first.text.size(), 1500u);
}

TEST(LogScan, MemoryStaysBounded) {
  LogScanner scanner("x");
  std::string block;
  for (int i = 0; i < 1000; ++i)
    block += "Out of memory: Killed process " + std::to_string(i) + " (p) x\n";
  for (int i = 0; i < 50; ++i) scanner.feed(block);
  const LogScan scan = scanner.finish();
  EXPECT_EQ(find(scan, "kernel_oom_host")->count, 50000);
  EXPECT_LE(find(scan, "kernel_oom_host")->subjects.size(), 16u);
}

std::int64_t peak_kilobytes() {
  for (const std::string& line : split(*read_file("/proc/self/status"), '\n')) {
    if (starts_with(line, "VmHWM:")) return *parse_integer(words(line)[1]);
  }
  return 0;
}

// 2 GiB: healthy lines, then one line of nothing but zero bytes (a hole), then the failure.
TEST(SlowLogScan, TwoGigabytesInBoundedMemory) {
  constexpr std::int64_t kSize = std::int64_t{2} << 30;
  const std::string directory = *make_temporary_directory("scan");
  const std::string path = join_path(directory, "train.log");
  std::string healthy;
  while (healthy.size() < (1 << 20)) {
    healthy += "epoch: [1/9], loss: 0.5, avg_reader_cost: 0.1 s, ips: 99.1 samples/s\n";
  }
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  constexpr int kBlocks = 512;
  for (int i = 0; i < kBlocks; ++i) std::fwrite(healthy.data(), 1, healthy.size(), file);
  ASSERT_EQ(std::fseek(file, kSize, SEEK_SET), 0);
  std::fputs((std::string("\n") + kKilledWorker + "\n").c_str(), file);
  ASSERT_EQ(std::fclose(file), 0);
  scan_text("warm", kKilledWorker);
  const std::int64_t before = peak_kilobytes();
  const auto scan = scan_log(path);
  const std::int64_t grown = peak_kilobytes() - before;
  ASSERT_TRUE(remove_tree(directory));
  ASSERT_TRUE(scan);
  EXPECT_GT(scan->bytes, kSize);
  EXPECT_EQ(scan->lines, kBlocks * std::count(healthy.begin(), healthy.end(), '\n') + 2);
  EXPECT_NE(find(*scan, "worker_sigkill"), nullptr);
  EXPECT_LT(grown, 8 * 1024) << "KiB more than before";
  RecordProperty("grown_kilobytes", static_cast<int>(grown));
}

TEST(LogScan, UnreadableAndCompressedFilesAreNamed) {
  const auto missing = scan_log("/nowhere/workerlog.0");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::missing);
  EXPECT_THAT(missing.error().what, testing::HasSubstr("/nowhere/workerlog.0"));
  EXPECT_FALSE(scan_log("/"));
  const std::string directory = *make_temporary_directory("scan");
  const std::string path = join_path(directory, "a.log.gz");
  ASSERT_TRUE(write_file(path, "\x1f\x8b\x08 something"));
  const auto compressed = scan_log(path);
  ASSERT_FALSE(compressed);
  EXPECT_THAT(compressed.error().what, testing::HasSubstr("zcat"));
  ASSERT_TRUE(write_file(path, std::string("\xff\xfe"
                                           "C\0U\0",
                                           6)));
  const auto wide = scan_log(path);
  ASSERT_FALSE(wide);
  EXPECT_THAT(wide.error().what, testing::HasSubstr("iconv -f UTF-16"));
  ASSERT_TRUE(remove_tree(directory));
}

TEST(LogScan, RanksInOneFileAreKeptApart) {
  const LogScan scan = scan_text(
      "all.log", "[rank1]: KeyError: 'a'\n[rank0]: ValueError: b\n[rank1]: KeyError: c\n");
  std::vector<std::pair<int, std::int64_t>> found;
  for (const Finding& finding : scan.findings) {
    if (std::string_view(finding.signature->id) == "exception_line") {
      found.emplace_back(finding.rank.value_or(-1), finding.count);
    }
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre(testing::Pair(0, 1), testing::Pair(1, 2)));
}

TEST(LogTime, ReadsTheUsualForms) {
  const double day = 86400;
  EXPECT_NEAR(*parse_log_time("[2024/01/02 00:00:01] ppocr INFO: x"), day + 1, 1e-9);
  EXPECT_NEAR(*parse_log_time("2024-01-02T00:00:01.250 x"), day + 1.25, 1e-9);
  EXPECT_NEAR(*parse_log_time("LAUNCH INFO 2024-01-02 00:00:01,500 x"), day + 1.5, 1e-9);
  EXPECT_NEAR(*parse_log_time("I0102 00:00:01.5 23 a.cc:1] x"), day + 1.5, 1e-9);
  EXPECT_NEAR(*parse_log_time("[rank1]:[E102 00:00:01.5 ProcessGroupNCCL.cpp:1] x"), day + 1.5,
              1e-9);
  EXPECT_NEAR(*parse_log_time("(APIServer pid=1) ERROR 01-02 00:00:01 [core.py:1] x"), day + 1,
              1e-9);
  EXPECT_NEAR(*parse_log_time("Jan  2 00:00:01 host kernel: x"), day + 1, 1e-9);
  EXPECT_NEAR(*parse_log_time("[Tue Jan  2 00:00:01 2024] x"), day + 1, 1e-9);
  EXPECT_FALSE(parse_log_time("Traceback (most recent call last):"));
  EXPECT_FALSE(parse_log_time(""));
}

// As torch's loader says it while an epoch begins, and the epochs go on.
TEST(Diagnosis, WhatPythonIgnoredIsNeverTheCauseOfAnEnd) {
  const std::string ignored =
      "Epoch 1 step 20 loss 2.11\n"
      "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f3c>\n"
      "Traceback (most recent call last):\n"
      "  File \"/usr/lib/python3.10/multiprocessing/process.py\", line 160, in is_alive\n"
      "    assert self._parent_pid == os.getpid(), 'can only test a child process'\n"
      "AssertionError: can only test a child process\n";
  EXPECT_FALSE(diagnose_text(ignored + "Epoch 2 step 10 loss 1.91\n").failed);
  const std::string own =
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in main\n    step()\n"
      "AssertionError: wrong\n";
  const Diagnosis found = diagnose_text(ignored + own);
  ASSERT_TRUE(found.failed) << "its own exception after it is one";
  EXPECT_EQ(found.causes[0].evidence[0].line, 10);
}

TEST(Diagnosis, ARunThatWentOnToItsEndDidNotDieOfWhatItCaught) {
  const std::string caught =
      "step 20 loss 2.11\nTraceback (most recent call last):\n"
      "  File \"train.py\", line 44, in main\n    batch = next(loader)\n"
      "RuntimeError: DataLoader worker (pid 123) is killed by signal: Killed. \n";
  const std::string steps = "step 30 loss 1.91\nstep 40 loss 1.71\nstep 50 loss 1.51\n";
  EXPECT_FALSE(diagnose_text(caught + "retrying\n" + steps + "Done.\n").failed);
  EXPECT_TRUE(diagnose_text(caught + "Done.\n").failed) << "a script's word after a failure";
  EXPECT_TRUE(diagnose_text(caught).failed);
}

}  // namespace
}  // namespace ocrtune
