#include "trial/watch/trial_watch.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/logs/log_reader.h"
#include "trial/logs/reader_finder.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Twenty seconds for each of the machine's.
struct FastClock : Clock {
  static constexpr double kTimes = 20;
  double now_seconds() override { return kTimes * steady_clock().now_seconds(); }
  void sleep_seconds(double seconds) override { steady_clock().sleep_seconds(seconds / kTimes); }
};

TEST(TrialWatch, StagesOfACommandThatIsOnlyListenedToAreSeen) {
  const auto reader = make_listener(std::make_shared<ReaderFinder>(LogContext()));
  ProcessOptions silent;
  silent.arguments = {"sh", "-c", "while :; do :; done"};
  TrialPlan plan;
  plan.processes = {silent};
  plan.reader = reader.get();
  plan.listens = true;
  TrialLimits limits;
  limits.max_seconds = 30;
  FastClock clock;
  const Trial trial = watch_trial(plan, limits, clock);
  EXPECT_EQ(trial.outcome, Outcome::timed_out);
  EXPECT_GT(trial.threads.alive, 0);
  EXPECT_GT(trial.stages.looks, 0);
  EXPECT_EQ(trial.stages.busiest_process, "sh");
}

// A page of an hour, told in the first seconds of a program, was a trial of one window of an hour.
TEST(TrialWatch, AStepThatTookLongerThanItsProgramRanIsPassedOver) {
  const auto reader = make_log_reader("torch", LogContext()).value();
  ProcessOptions told;
  told.arguments = {"sh", "-c", "while :; do echo '1 h/page'; echo '20 pages/s'; sleep 0.01; done"};
  TrialPlan plan;
  plan.processes = {told};
  plan.reader = reader.get();
  TrialLimits limits;
  limits.measure_seconds = 4;
  limits.max_seconds = 60;
  FastClock clock;
  const Trial trial = watch_trial(plan, limits, clock);
  ASSERT_TRUE(trial.ok()) << trial.reason;
  for (const Sample& sample : trial.samples) EXPECT_LT(sample.seconds, 60);
  EXPECT_THAT(trial.evidence, Contains(HasSubstr("it is passed over")));
}

TEST(TrialWatch, WhatALauncherSetForItsWorkerIsSeen) {
  const auto reader = make_listener(std::make_shared<ReaderFinder>(LogContext()));
  ProcessOptions launched;
  launched.arguments = {"sh", "-c",
                        "exec env OMP_NUM_THREADS=1 sh -c 'while :; do :; done' </dev/null"};
  launched.environment = {{"OMP_NUM_THREADS", "2"}};
  TrialPlan plan;
  plan.processes = {launched};
  plan.reader = reader.get();
  plan.listens = true;
  plan.demand.cpus = 2;
  TrialLimits limits;
  limits.max_seconds = 30;
  FastClock clock;
  const Trial trial = watch_trial(plan, limits, clock);
  ASSERT_EQ(trial.stages.launcher_set.size(), 1U);
  EXPECT_EQ(trial.stages.launcher_set[0].text(), "OMP_NUM_THREADS=1");
}

}  // namespace
}  // namespace ocrtune
