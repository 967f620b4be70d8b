#include "reports/figures/bottleneck.h"

#include <gtest/gtest.h>

#include "tests/support/sample_jobs.h"
#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

Knobs on_processes(int nproc) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.threads = 1;
  knobs.batch = 16;
  return knobs;
}

Trial trial_of(const Knobs& knobs, const StepTimes& step, int steps = 10) {
  Trial trial;
  trial.knobs = knobs;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = 100;
  Sample sample = window_of(100);
  sample.steps = steps;
  sample.step = step;
  trial.samples = {sample};
  return trial;
}

RunRecord run_with(const StepTimes& step) {
  RunRecord run;
  run.trials = {trial_of(on_processes(2), step)};
  run.result.found = true;
  run.result.recommendation.knobs = on_processes(2);
  run.result.recommendation.samples_per_second = {100, 99, 101};
  return run;
}

TEST(Bottleneck, CeilingsAreTheRateWithoutThePart) {
  const auto found = bottlenecks(run_with({0.02, 0.06, 0.01, 0.01}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].role, "recommended");
  EXPECT_NEAR(found[0].step_seconds(), 0.1, 1e-12);
  EXPECT_NEAR(found[0].ceiling_without_data, 125, 1e-9);
  EXPECT_NEAR(found[0].ceiling_without_all_reduce, 100 / 0.9, 1e-9);
  EXPECT_NEAR(found[0].ceiling_without_wait, 100 / 0.9, 1e-9);
}

TEST(Bottleneck, AStepThatOnlyLoadsHasNoCeiling) {
  const auto found = bottlenecks(run_with({0.1, 0, 0, 0}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ceiling_without_data, 0) << "nothing would be left of the step";
  EXPECT_NEAR(found[0].ceiling_without_wait, 100, 1e-9);
}

TEST(Bottleneck, ASettingStandsOnceUnderItsFirstRole) {
  RunRecord run = run_with({0.02, 0.08, 0, 0});
  run.trials.push_back(trial_of(on_processes(1), {0.01, 0.09, 0, 0}));
  run.result.baseline.knobs = on_processes(2);
  run.result.baseline.samples_per_second = {100, 99, 101};
  RuleVerdict rule;
  rule.name = "seven";
  rule.setting.knobs = on_processes(1);
  rule.setting.samples_per_second = {80, 79, 81};
  run.result.rules = {rule};
  const auto found = bottlenecks(run);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].role, "recommended");
  EXPECT_EQ(found[1].role, "seven");
}

TEST(Bottleneck, WithoutStepTimesOrAnAnswerThereIsNone) {
  EXPECT_TRUE(bottlenecks(run_with({})).empty()) << "a command that reports no parts";
  EXPECT_TRUE(bottlenecks(RunRecord()).empty());
  RunRecord run = run_with({0.02, 0.08, 0, 0});
  run.job = reading_job();
  EXPECT_TRUE(bottlenecks(run).empty()) << "a chunk of lines is no step";
  run.job = training_job();
  EXPECT_FALSE(bottlenecks(run).empty());
  run.trials[0].outcome = Outcome::crashed;
  EXPECT_TRUE(bottlenecks(run).empty());
  run = run_with({0, 0.1, 0, 0});
  run.job = training_job();
  EXPECT_FALSE(bottlenecks(run).empty());
  run.job = command_job({"python", "train.py"});
  EXPECT_TRUE(bottlenecks(run).empty()) << "its lines part nothing";
}

TEST(Bottleneck, SpoiltSamplesDoNotCountAndLongOnesCountMore) {
  Trial trial = trial_of(on_processes(1), {0.1, 0, 0, 0}, 30);
  trial.samples.push_back(trial_of(on_processes(1), {0, 0.1, 0, 0}, 10).samples[0]);
  Sample discarded = trial.samples[0];
  discarded.step = {0, 0, 5, 0};
  discarded.interference.spoilt_by = "other load";
  trial.samples.push_back(discarded);
  const StepTimes mean = mean_step({trial}, on_processes(1));
  EXPECT_NEAR(mean.data_seconds, 0.075, 1e-12);
  EXPECT_NEAR(mean.compute_seconds, 0.025, 1e-12);
  EXPECT_EQ(mean.all_reduce_seconds, 0);
}

}  // namespace
}  // namespace ocrtune
