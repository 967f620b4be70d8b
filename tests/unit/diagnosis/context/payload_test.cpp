#include "diagnosis/context/payload.h"

#include <string>

#include <gtest/gtest.h>

#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

// What OCR programs print of what they read: screenshots of error messages are everyday pages.
TEST(Payload, RecognisedTextIsNoEvent) {
  for (const char* line :
       {R"x(INFO POST /ocr 200 text="CUDA out of memory. Tried to allocate 2.00 GiB")x",
        R"x({"file":"a.png","text":"RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"})x",
        "[[[28.0, 37.0], [302.0, 39.0]], ('No space left on device', 0.9651)]",
        "[2024/10/22 11:30:05] ppocr INFO: \t result: No space left on device\t0.991",
        "pred: RuntimeError: CUDA out of memory, gt: RuntimeError: CUDA out of memory",
        "识别结果：段错误 (核心已转储)",
        "[shot_01.png] >>> docker: Error response from daemon: OCI runtime create failed",
        "img_12.jpg\tSegmentation fault (core dumped)",
        "       \"Segmentation fault (core dumped)\",",
        "<span class='ocrx_word' title='x_wconf 96'>CUDA out of memory</span>",
        "CUDA out of memory. Tried to allocate 2.00 GiB   0.9871",
        R"x(INFO page 3: read "Bus error (core dumped)" in 40 ms)x",
        R"x(client> page_3.md: "ERROR: There is not enough space on the disk")x",
        R"x({"level":"info","message":"page read","lead":"CUDA out of memory. Tried 2 GiB"})x",
        R"x(level=info msg="page read" lead="Segmentation fault (core dumped)")x",
        R"x(prompt: 'Translate: 'Segmentation fault (core dumped)'<end>', params: 1)x",
        R"x({"level":"info","path":"/ocr","text":"CUDA out of memory. Tried to allocate 2 GiB"})x",
        "['CUDA out of memory', 'Bus error (core dumped)'] [0.98, 0.97]",
        "| 2 | Out of memory: Killed process 4711 (python) | 0.98 |",
        "Too many open files       | Too many open files       | 0.8487\tTrue",
        R"x(# the first run ended with "CUDA out of memory. Tried to allocate 2.00 GiB")x",
        "----- page_002.txt -----\nRuntimeError: CUDA out of memory\n----- page_003.txt -----\nok",
        "2026-11-26 11:00:00 INFO page 8\n```\nRuntimeError: CUDA out of memory\n```\n",
        R"x({"rec_texts": ["Segmentation fault (core dumped)", "ok"], "rec_scores": [0.9]})x"}) {
    const Diagnosis diagnosis = diagnose_text(std::string(line) + "\n");
    EXPECT_FALSE(diagnosis.failed) << line << " -> " << diagnosis.causes[0].row->name;
  }
}

// Names of tests, and what tests print on purpose.
TEST(Payload, WhatTestsAreAboutIsNoEvent) {
  const std::string listed =
      "tests/test_a.py::test_oom XFAIL (CUDA out of memory on small cards)  [ 50%]\n"
      "--------------------- Captured stderr call ---------------------\n"
      "ERROR as it should: [Errno 2] No such file or directory: nope.txt\n";
  EXPECT_FALSE(
      diagnose_text(listed + "=== 236 passed, 4 xfailed, 12 warnings in 73.21s ===\n").failed);
  const Diagnosis broken = diagnose_text(
      listed +
      "==== short test summary info ====\nMemoryError: no room\n1 failed, 3 passed in 1s\n");
  EXPECT_TRUE(broken.failed);
}

// The same words as the program's own.
TEST(Payload, WhatTheProgramSaysOfItselfCounts) {
  for (
      const char* line : {
          R"({"level":"ERROR","message":"CUDA out of memory. Tried to allocate 2.00 GiB"})",
          R"({"text":"CUDA out of memory. Tried 2 GiB","record":{"level":{"name":"ERROR"}}})",
          R"(time="2025" level=error msg="CUDA out of memory. Tried to allocate 2 GiB")",
          R"({"level":"error","lead":"page 3","exc_info":"CUDA out of memory. Tried 2 GiB"})",
          R"({"level":"error","path":"/ocr","text":"CUDA out of memory. Tried to allocate 2 GiB"})",
          R"(response: {"error": {"message": "CUDA out of memory"}})",
          R"(ERROR worker: output: CUDA out of memory)",
          "Jan  1 00:01:10 kiosk ocr[400]: CUDA out of memory",
          "OSError: [Errno 28] No space left on device: '/data/crop_1.png'",
          "  Active: failed (Result: oom-kill) since Tue; Failed with result 'oom-kill'",
      }) {
    EXPECT_TRUE(diagnose_text(std::string(line) + "\n").failed) << line;
  }
}

TEST(Payload, ABlockBelowAHeadingCountsOnlyIfTheProgramEndsInIt) {
  const std::string heading = "[2025-01-01 10:00:00] INFO recognised text:\n";
  const std::string text = "Traceback (most recent call last):\nRuntimeError: CUDA out of memory\n";
  const std::string next = "[2025-01-01 10:00:01] INFO page 4\n";
  EXPECT_FALSE(diagnose_text(heading + text + next).failed);
  EXPECT_TRUE(diagnose_text(heading + text).failed);
}

TEST(Payload, AnAnswerOfSeveralLinesEndsAtTheNextLabel) {
  const std::string answer =
      "[sample 12] answer : Look for\n    Killed process 31 (python) total-vm:1kB, anon-rss:1kB\n";
  const std::string own = "[rank0]: RuntimeError: CUDA out of memory. Tried to allocate 1 GiB\n";
  EXPECT_FALSE(diagnose_text(answer + "[sample 12] score 0.51 latency 1.2s\n").failed);
  EXPECT_TRUE(diagnose_text(answer + own).failed);
  EXPECT_TRUE(diagnose_text(answer + "[sample 12] score 0.51\n" + own.substr(9)).failed);
}

TEST(Payload, ALineWithoutAnyIsLeftAlone) {
  EXPECT_FALSE(without_payload("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"));
  EXPECT_FALSE(without_payload("epoch: [1/5], global_step: 40, loss: 1.2731"));
  EXPECT_EQ(without_payload(R"(text="a b" then CUDA error)"), R"(text="..." then CUDA error)");
}

}  // namespace
}  // namespace ocrtune
