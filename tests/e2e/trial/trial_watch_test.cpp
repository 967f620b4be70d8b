#include "trial/watch/trial_watch.h"

#include <memory>

#include <gtest/gtest.h>

#include "trial/logs/reader_finder.h"

namespace ocrtune {
namespace {

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
