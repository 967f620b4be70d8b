#include "diagnosis/context/tracebacks.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

// "place|file of the last frame" for each line that ends a traceback.
std::string ends_of(const std::string& text) {
  Tracebacks tracebacks;
  std::string ends;
  for (const std::string& line : split(text, '\n')) {
    if (line.find("Traceback (most recent call last)") != std::string::npos) {
      tracebacks.begin(line);
    } else if (const auto at = tracebacks.take_line(line)) {
      ends += at->place + "|" + at->file + "\n";
    }
  }
  return ends;
}

TEST(Tracebacks, TheLastFrameOutsideOfPackagesIsThePlace) {
  EXPECT_EQ(ends_of("Traceback (most recent call last):\n"
                    "  File \"/app/train.py\", line 90, in <module>\n"
                    "    run()\n"
                    "  File \"/app/data/lines.py\", line 31, in read\n"
                    "    q.get(timeout=1)\n"
                    "  File \"/usr/lib/python3.11/queue.py\", line 179, in get\n"
                    "    raise Empty\n"
                    "queue.Empty\n"
                    "Epoch: 3 lr: 0.1\n"),
            "data/lines.py:31|queue.py\n");
  EXPECT_EQ(ends_of("Traceback (most recent call last):\n"
                    "  File \"/v/site-packages/a/cli.py\", line 1, in main\n"
                    "  File \"/v/site-packages/a/config.py\", line 2, in check\n"
                    "ValueError: no\n"),
            "a/config.py:2|config.py\n");
}

TEST(Tracebacks, OfSeveralRanksInOneLog) {
  EXPECT_EQ(ends_of("[rank0]: Traceback (most recent call last):\n"
                    "[rank1]: Traceback (most recent call last):\n"
                    "[rank1]:   File \"b.py\", line 2, in f\n"
                    "[rank0]:   File \"a.py\", line 1, in f\n"
                    "rank0: KeyError: 'x'\n"
                    "[rank2]: KeyError: 'x'\n"
                    "[rank1]:     raise X\n"
                    "[rank0]: KeyError: 'x'\n"
                    "[rank1]: shop.errors.Closed(2,)\n"),
            "a.py:1|a.py\nb.py:2|b.py\n");
}

TEST(Tracebacks, BehindALoggersClock) {
  EXPECT_EQ(ends_of("2025-01-02 10:00:01,100 - pipe - INFO - Traceback (most recent call last):\n"
                    "2025-01-02 10:00:01,120 - pipe - INFO -   File \"s.py\", line 7, in go\n"
                    "2025-01-02 10:00:01,300 - pipe - WARN - Attempt: 3\n"
                    "2025-01-02 10:00:02,120 - pipe - INFO - OSError: no such thing\n"),
            "s.py:7|s.py\n");
  EXPECT_EQ(ends_of("2025-08-14 03:10:44 [rank1] Traceback (most recent call last):\n"
                    "  File \"t.py\", line 5, in <module>\n"
                    "RuntimeError: x\n"),
            "t.py:5|t.py\n");
}

TEST(Tracebacks, WordsBeforeAColonAreNoException) {
  EXPECT_EQ(ends_of("Traceback (most recent call last):\n"
                    "  File \"t.py\", line 5, in <module>\n"
                    "INFO: a\nwandb: b\n[rank1]: Error: c\n3.2: d\nKilled\n"
                    "Exception: e\n"),
            "t.py:5|t.py\n");
}

TEST(Tracebacks, AnIteratorThatEndsIsAnException) {
  EXPECT_EQ(ends_of("Traceback (most recent call last):\n"
                    "  File \"t.py\", line 5, in <module>\n"
                    "StopIteration\n"),
            "t.py:5|t.py\n");
}

TEST(Diagnosis, AnExceptionOfAnyNameIsToldWithItsPlace) {
  std::string log =
      "[rank0]: step 10 loss 1\n"
      "[rank2]: Traceback (most recent call last):\n"
      "[rank2]:   File \"/app/data/shop.py\", line 31, in read\n"
      "[rank2]: shop.errors.Closed: the shop is closed\n"
      "[rank0]:[E402 09:22:52.118 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=10, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
      "Timeout(ms)=600000) ran for 600071 milliseconds before timing out.\n";
  const Diagnosis diagnosis = diagnose_text(log);
  ASSERT_TRUE(diagnosis.failed);
  EXPECT_STREQ(diagnosis.causes[0].row->name, "python_exception");
  EXPECT_EQ(diagnosis.causes[0].evidence[0].raised.place, "data/shop.py:31");
  ASSERT_EQ(diagnosis.story.size(), 2);
  EXPECT_EQ(diagnosis.story[0].ranks, std::vector<int>{2});
  EXPECT_EQ(diagnosis.story[0].raised_at, "data/shop.py:31");
  EXPECT_THAT(diagnosis.story[0].text, testing::EndsWith("the shop is closed"));
}

TEST(Diagnosis, WhatAConfigurationsFileRaisesIsAMatterOfTheConfiguration) {
  const auto first = [](const std::string& file) {
    return std::string(diagnose_text("Traceback (most recent call last):\n  File \"/v/" + file +
                                     "\", line 9, in check\nValueError: 3 is no depth\n")
                           .causes[0]
                           .row->name);
  };
  EXPECT_EQ(first("engine/config.py"), "bad_configuration");
  EXPECT_EQ(first("engine/blocks.py"), "python_exception");
}

}  // namespace
}  // namespace ocrtune
