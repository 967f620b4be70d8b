#include "extras/capacity/store_back_test.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/sample_jobs.h"
#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

Trial trial_of(int nproc, double rate) {
  Trial trial;
  trial.knobs.nproc = nproc;
  trial.knobs.batch = 1;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  Sample sample = window_of(rate);
  sample.steps = 100;
  trial.samples.assign(5, sample);
  return trial;
}

RunRecord run_of(const std::string& id, const std::vector<int>& counts, double each) {
  RunRecord run;
  run.id = id;
  run.job = reading_job();
  run.machine.fingerprint = "this one";
  for (const int count : counts) run.trials.push_back(trial_of(count, each * count));
  run.result.found = true;
  run.result.recommendation.knobs = run.trials.back().knobs;
  const double rate = run.trials.back().samples_per_second;
  run.result.recommendation.samples_per_second = {rate, 0.97 * rate, 1.03 * rate};
  return run;
}

RunRecord under_slo(const std::string& id, int nproc, double rate) {
  RunRecord run = run_of(id, {nproc}, rate / nproc);
  run.job.inference()->slo = "p99=200ms";
  run.trials.front().phase = "proof";
  return run;
}

TEST(StoreBackTests, ASettingIsExpectedToDoTheSameOnAnotherDay) {
  const auto tests =
      store_back_tests({run_of("a", {1, 2}, 100), run_of("b", {1, 2}, 102), run_of("c", {2}, 130)});
  // Both settings of a and b; 2 processes of a and of b against c.
  ASSERT_EQ(tests.size(), 4u);
  for (const StoreBackTest& test : tests) {
    EXPECT_EQ(test.figure, PredictedFigure::rate);
    EXPECT_LT(test.predicted.low, test.predicted.median);
    EXPECT_LT(test.predicted.median, test.predicted.high);
    EXPECT_EQ(test.held(), test.against == "b") << test.from << test.against;
  }
  const StoreBackTestSummary summary = summary_of(tests);
  EXPECT_EQ(summary.tests, 4);
  EXPECT_EQ(summary.held, 2);
  EXPECT_NEAR(summary.p90_error, 1 - 100.0 / 130, 0.02);
}

// The setting that was not recommended ran beside others, and its rate is put right for that.
TEST(StoreBackTests, ADisturbedSettingIsExpectedToGiveLess) {
  const auto width = [](bool disturbed) {
    RunRecord run = run_of("a", {1, 2}, 100);
    for (Sample& sample : run.trials[0].samples) {
      if (!disturbed) continue;
      Interference& others = sample.interference;
      others.observed_seconds = 1;
      others.cpu_seconds = 0.6;
      others.available_cpus = 2;
      others.external_wait_seconds = others.longest_external_wait_seconds = 0.3;
      others.external_cpus = 1.4;
      others.spoilt_by = "other processes used 1.40 CPUs";
    }
    for (const StoreBackTest& test : store_back_tests({run, run_of("b", {1, 2}, 100)})) {
      if (test.knobs.nproc == 1) return std::log(test.predicted.high / test.predicted.low);
    }
    return 0.0;
  };
  EXPECT_GT(width(true), 1.5 * width(false));
}

TEST(StoreBackTests, OtherMachinesAndOtherWorkAreNoEvidence) {
  const RunRecord run = run_of("a", {1, 2}, 100);
  RunRecord elsewhere = run_of("b", {1, 2}, 100), other = elsewhere, nowhere = elsewhere;
  elsewhere.machine.fingerprint = "another";
  other.job.inference()->model = "svtr";
  EXPECT_TRUE(store_back_tests({run, elsewhere}).empty());
  EXPECT_TRUE(store_back_tests({run, other}).empty());
  nowhere.machine.fingerprint = "";
  EXPECT_TRUE(store_back_tests({nowhere, nowhere}).empty());
  EXPECT_EQ(summary_of({}).tests, 0);
}

TEST(StoreBackTests, MoreProcessesArePredictedFromFewer) {
  const auto tests = store_back_tests({run_of("a", {1, 2, 3, 4, 6}, 100)});
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].figure, PredictedFigure::more_processes);
  EXPECT_EQ(tests[0].knobs.nproc, 6);
  EXPECT_DOUBLE_EQ(tests[0].measured, 600);
  EXPECT_NEAR(tests[0].error(), 0, 0.05);
}

// Two processes of 20 ms each do 100/s and serve most of it within ten times their service.
TEST(StoreBackTests, ARateUnderATargetIsPredictedFromTheSaturatedOne) {
  for (const bool target_first : {false, true}) {
    std::vector<RunRecord> runs = {run_of("a", {1, 2}, 50), under_slo("b", 2, 85)};
    if (target_first) std::swap(runs[0], runs[1]);
    const auto tests = store_back_tests(runs);
    ASSERT_EQ(tests.size(), 1u);
    EXPECT_EQ(tests[0].figure, PredictedFigure::served);
    EXPECT_EQ(tests[0].from, "a");
    EXPECT_EQ(tests[0].slo, "p99=200ms");
    EXPECT_DOUBLE_EQ(tests[0].measured, 85);
    EXPECT_GT(tests[0].predicted.median, 75);
    EXPECT_LT(tests[0].predicted.median, 100);
  }
}

}  // namespace
}  // namespace ocrtune
