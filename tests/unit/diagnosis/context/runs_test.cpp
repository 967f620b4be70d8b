#include "diagnosis/context/runs.h"

#include <string>

#include <gtest/gtest.h>

#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

const std::string kFullLines =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB.\n";
const std::string kPort = "OSError: [Errno 98] Address already in use\n";

std::string first_of(const std::string& text) {
  const Diagnosis diagnosis = diagnose_text(text);
  return diagnosis.causes.empty() ? "none" : diagnosis.causes[0].row->name;
}

TEST(Runs, TheLastRunDecides) {
  for (const char* begin :
       {"=== run 2 10:20 ===\n", "--- 2024-09-30 08:55 restart by cron ---\n", "##### attempt 2\n",
        "[2024/01/01 10:00:00] ppocr INFO: train with paddle 3.0.0 and device Place(gpu:0)\n",
        "systemd[1]: ocr.service: Scheduled restart job, restart counter is at 2.\n",
        "##### 2025-03-04 19:51:30 bash train.sh (batch 2) #####\n",
        "[2024-05-14 06:58:02 +0000] [7] [INFO] Starting gunicorn 21.2.0\n"}) {
    EXPECT_EQ(first_of(kFullLines + begin + kPort), "port_in_use") << begin;
  }
}

TEST(Runs, SectionsOfOneRunAreNoRuns) {
  for (const char* line :
       {"=== dmesg of the run ===", "==> rank1.log <==", "==== train.py FAILED ====",
        "=== node-1 (attempt 1) ===", "--- end of run 1 ---", "retry attempt 2 of 5"}) {
    EXPECT_FALSE(begins_a_run(line)) << line;
  }
}

TEST(Runs, AScriptThatIsTypedAgainIsAnotherRun) {
  const std::string first = "me@pc:~/a$ python3 read.py a.png\n" + kFullLines;
  const std::string again = "(env) me@pc:~/a$ python read.py a.png\n";
  EXPECT_EQ(first_of(first + again + kPort), "port_in_use");
  EXPECT_FALSE(
      diagnose_text(first + again + "a.png: 31 lines\n(env) me@pc:~/a$ echo $?\n0\n").failed);
  EXPECT_TRUE(diagnose_text(first + "me@pc:~/a$ python3 other.py\n" + kPort).causes.size() > 1);
  EXPECT_EQ(typed_script("me@pc:~$ CUDA_VISIBLE_DEVICES=0 python tools/train.py -c a.yml"),
            "train.py");
  EXPECT_EQ(typed_script("me@pc:~$ dmesg | tail"), "");
}

// It has only begun: what ended the one before is still the answer.
TEST(Runs, ARunThatSaysNothingYetDecidesNothing) {
  EXPECT_EQ(first_of(kFullLines + "=== run 2 ===\nloading the model\n"), "gpu_out_of_memory");
}

TEST(Runs, AStepThatCountsAnewIsAnotherRun) {
  const auto step = [](int n) { return "Epoch [1] step: " + std::to_string(n) + " loss: 0.5\n"; };
  std::string steps;
  for (int i = 0; i < 5; ++i) steps += step(i);
  EXPECT_EQ(first_of(step(5000) + step(5010) + kFullLines + steps + kPort), "port_in_use");
  EXPECT_EQ(step_of("[2024] ppocr INFO: epoch: [3/5], global_step: 40, loss: 1"), 3);
  EXPECT_FALSE(step_of("loss: 0.5"));
}

// A full disk of one run cuts short what the next one reads.
TEST(Runs, WhatAnEarlierRunLeftBehindCounts) {
  const std::string full_disk = "OSError: [Errno 28] No space left on device: '/out/latest.pth'\n";
  const std::string damaged = "_pickle.UnpicklingError: pickle data was truncated\n";
  EXPECT_EQ(first_of(full_disk + "--- restart by cron ---\n" + damaged), "disk_full");
}

}  // namespace
}  // namespace ocrtune
