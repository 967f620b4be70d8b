#include "trial/observe/thread_runtimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/observe/thread_use.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ThreadRuntimes, AreFoundAmongMappedLibraries) {
  // From a RapidOCR process: numpy and OpenCV bring an OpenBLAS each.
  const std::string maps =
      "7f00-7f01 r-xp 00000000 08:01 1  /usr/lib/site-packages/numpy.libs/"
      "libscipy_openblas64_-32a4b2a6.so\n"
      "7f01-7f02 r-xp 00000000 08:01 2  /usr/lib/site-packages/onnxruntime/capi/"
      "onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so\n"
      "7f02-7f03 r-xp 00000000 08:01 3  /usr/lib/site-packages/cv2/cv2.abi3.so\n"
      "7f03-7f04 rw-p 00000000 00:00 0 \n"
      "7f04-7f05 r--p 00000000 08:01 4  /home/me/openblas/notes.txt\n";
  EXPECT_THAT(mapped_runtimes(maps), ElementsAre("ONNX Runtime", "OpenBLAS", "OpenCV"));
  EXPECT_TRUE(mapped_runtimes("").empty());
}

TEST(ThreadRuntimes, WhatAFrameworkOnlyCarriesIsNotTold) {
  const std::string packages = "7f0-7f1 r-xp 0 08:01 5 /venv/lib/python3.11/site-packages/";
  EXPECT_TRUE(mapped_runtimes(packages + "paddle/libs/libopenvino.so.2500\n").empty());
  EXPECT_THAT(mapped_runtimes(packages + "openvino/libs/libopenvino.so.2640\n"),
              ElementsAre("OpenVINO"));
}

TEST(ThreadRuntimes, OnlyWhatIsReadStays) {
  const auto unread = unread_thread_variables({"OpenBLAS", "ONNX Runtime"});
  EXPECT_THAT(unread, Contains("MKL_NUM_THREADS"));
  EXPECT_THAT(unread, Contains("GOMAXPROCS"));
  EXPECT_THAT(unread, Not(Contains("OPENBLAS_NUM_THREADS")));
  EXPECT_THAT(unread, Not(Contains("OMP_NUM_THREADS"))) << "scripts hand it on";
}

LoadSnapshot at(double seconds) {
  LoadSnapshot snapshot;
  snapshot.seconds = seconds;
  snapshot.has_thread_times = true;
  return snapshot;
}

TEST(ThreadUse, CountsBusyAndRunnableThreads) {
  LoadSnapshot before = at(10), after = at(12);
  before.threads = {{1, {5, 1, 100, 10}}, {2, {0, 0, 0, 0}}, {3, {7, 0, 0, 0}}};
  // One runs all the time, one half the time and waits for the rest, one sleeps, one is new.
  after.threads = {
      {1, {7, 1, 104, 10}}, {2, {1, 1, 0, 50}}, {3, {7.01, 0, 2, 0}}, {4, {2, 0, 0, 0}}};
  after.throttled_seconds = 0.5;
  ThreadUseMeter meter;
  meter.add_window(before, after, 5.01);
  const ThreadUse use = meter.use();
  EXPECT_EQ(use.alive, 4);
  EXPECT_DOUBLE_EQ(use.busy, 3);
  EXPECT_NEAR(use.cpus, 2.505, 1e-9);
  EXPECT_NEAR(use.runnable, (2 + 2 + 0.01 + 2) / 2.0, 1e-9);
  EXPECT_NEAR(use.voluntary_switches_per_second, 3, 1e-9);
  EXPECT_NEAR(use.involuntary_switches_per_second, 25, 1e-9);
  EXPECT_NEAR(use.throttled_share, 0.25, 1e-9);
}

// Two processes with two threads each, which come and go all the time beside a shell that waits.
TEST(ThreadUse, CountsThreadsOfProcessesThatEnded) {
  LoadSnapshot before = at(10), after = at(14);
  before.threads = {{1, {0, 0, 5, 0}}};
  after.threads = {{1, {0, 0, 5, 0}}, {70, {1, 1, 0, 0}}};
  after.brief.looked_seconds = 2;  // half of the time was looked at
  after.brief.runnable_seconds = {{1, 7.5}};
  after.brief.working_seconds = 7.8;
  after.brief.max_threads = 4;
  after.brief.threads = {70};  // of one that still runs, and is among the four
  ThreadUseMeter meter;
  meter.add_window(before, after, 8);
  const ThreadUse use = meter.use();
  EXPECT_NEAR(use.runnable, 7.5 / 2, 1e-9);
  EXPECT_NEAR(use.busy, 7.8 / 2, 1e-9);
  EXPECT_EQ(use.alive, 5);
  EXPECT_TRUE(crowding(use, 2).is(ReasonCode::oversubscribed));
}

TEST(ThreadUse, NamesOversubscriptionAndThrottling) {
  ThreadUse use;
  EXPECT_TRUE(crowding(use, 2).empty()) << "nothing was observed";
  use.alive = 9;
  use.runnable = 8;
  EXPECT_TRUE(crowding(use, 2).is(ReasonCode::oversubscribed));
  EXPECT_EQ(crowding(use, 2).number(0), 8);
  EXPECT_TRUE(crowding(use, 8).empty());
  use.runnable = 6;
  use.throttled_share = 0.4;
  EXPECT_TRUE(crowding(use, 4).is(ReasonCode::throttled));
  use.runnable = 3;
  EXPECT_TRUE(crowding(use, 4).empty()) << "others of the control group used the quota up";
}

}  // namespace
}  // namespace ocrtune
