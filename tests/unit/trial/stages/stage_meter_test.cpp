#include "trial/stages/stage_meter.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

Sample window(double rate, double data_seconds = 0, const char* spoilt_by = "") {
  Sample sample = window_of(rate, 1, spoilt_by);
  sample.steps = 10;
  sample.step.data_seconds = data_seconds;
  sample.step.compute_seconds = 0.1 - data_seconds;
  return sample;
}

TEST(StageMeter, RatesOfThirdsAreOfCleanWindows) {
  StageUse use;
  add_windows({window(100), window(100), window(90), window(1, 0, "load"), window(90), window(60),
               window(60)},
              use);
  EXPECT_DOUBLE_EQ(use.first_rate, 100);
  EXPECT_DOUBLE_EQ(use.last_rate, 60);
  StageUse few;  // disturbed, and nothing is known of their CPU time
  add_windows({window(100), window(60)}, few);
  EXPECT_DOUBLE_EQ(few.first_rate, 0);
}

TEST(StageMeter, BesideLoadTheCpuTimeOfASampleTellsTheFall) {
  std::vector<Sample> samples;
  for (int i = 0; i < 9; ++i) {
    const double got = i % 2 == 0 ? 0.4 : 0.9;  // CPUs, as the load let it
    samples.push_back(window((200 - 10 * i) * got, 0, "load"));
    samples.back().interference.observed_seconds = 1;
    samples.back().interference.cpu_seconds = got;
  }
  StageUse use;
  add_windows(samples, use);
  EXPECT_NEAR(use.last_rate / use.first_rate, 130.0 / 190, 1e-9);
}

TEST(StageMeter, ShareOfDataIsOfTheLog) {
  StageUse use;
  add_windows({window(100, 0.02), window(100, 0.04)}, use);
  EXPECT_DOUBLE_EQ(use.data_share, 0.3);
  StageUse untold;
  add_windows({window(100), window(100)}, untold);
  EXPECT_LT(untold.data_share, 0);
}

LoadSnapshot snapshot(double seconds, double ran, double waited) {
  LoadSnapshot one;
  one.seconds = seconds;
  one.has_thread_times = true;
  one.threads[1] = {ran, waited, 0, 0, std::make_shared<const CpuSet>(CpuSet::range(0, 3))};
  one.threads[2] = {0.2 * ran, 0, 0, 0, std::make_shared<const CpuSet>(CpuSet::range(2, 5))};
  one.threads[3] = {0, 0, 0, 0, std::make_shared<const CpuSet>(CpuSet::range(0, 63))};
  return one;
}

TEST(StageMeter, WaitingForACpuIsNoIdleness) {
  StageMeter meter;
  meter.begin(0, {});
  meter.add_window(snapshot(0, 10, 5), snapshot(2, 11, 5.8));
  const StageUse use = meter.use({});
  EXPECT_DOUBLE_EQ(use.observed_seconds, 2);
  EXPECT_NEAR(use.busiest_thread_cpus, 0.5, 1e-9);
  EXPECT_NEAR(use.busiest_thread_share, 0.5 / 0.6, 1e-9);
  EXPECT_DOUBLE_EQ(use.saturated_threads, 0);
  EXPECT_EQ(use.allowed_cpus, 6) << "of the threads that ran, all together";
  EXPECT_EQ(use.allowed_list, "0-5");
}

TEST(StageMeter, NothingIsSeenBeforeTheMeasuring) {
  StageMeter meter;
  meter.add_window(snapshot(0, 0, 0), snapshot(2, 1, 1));
  EXPECT_DOUBLE_EQ(meter.use({}).observed_seconds, 0);
  meter.begin(2, {});
  meter.add_window(snapshot(2, 1, 1), snapshot(3, 2, 1));
  EXPECT_DOUBLE_EQ(meter.use({}).observed_seconds, 1);
}

}  // namespace
}  // namespace ocrtune
