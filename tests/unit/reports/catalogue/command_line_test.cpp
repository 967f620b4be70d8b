// What doctor and verify print, and errors of the command line, in Chinese.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "reports/catalogue/phrases.h"
#include "tests/support/sample_runs.h"
#include "tests/support/sample_windows.h"
#include "tuner/session/checkup.h"
#include "tuner/session/verification.h"

namespace ocrtune {
namespace {

void expect_chinese(const std::vector<Check>& checks) {
  for (const Check& check : checks) EXPECT_NE(chinese_of(check.text), check.text);
}

Trial measured(const Knobs& knobs, double rate) {
  Trial trial;
  trial.knobs = knobs;
  trial.outcome = Outcome::ok;
  trial.seconds = 10;
  trial.samples_per_second = rate;
  trial.peak_bytes = 1ULL << 30;
  trial.samples.assign(5, window_of(rate));
  for (Sample& sample : trial.samples) sample.steps = 2;
  return trial;
}

TEST(CommandLine, DoctorsChecksAreChinese) {
  Machine machine = sample_machine();
  machine.memory.shm_free_bytes = {8ULL << 30, "statvfs"};
  machine.ulimits = {{"processes", "100"}, {"open files", "1024"}, {"locked memory", "8.0 MiB"}};
  expect_chinese(machine_checks(machine));
  expect_chinese({own_name_check("node7", "10.0.0.7"), own_name_check("node7", "")});
  SearchRequest search;
  search.budget_seconds = 300;
  Trial trial = measured({}, 20);
  expect_chinese(step_checks(trial, Job(), search, Machine(), 40));
  search.budget_seconds = 20;
  search.memory_limit_bytes = 1ULL << 30;
  expect_chinese(step_checks(trial, Job(), search, Machine(), 40));
  trial.peak_bytes = 0;
  expect_chinese(step_checks(trial, Job(), search, Machine(), 40));
  trial.outcome = Outcome::crashed;
  trial.reason = "exit code 1";
  expect_chinese(step_checks(trial, Job(), search, Machine(), 40));
}

// By how much of what the run claims for start and recommendation is measured again.
Verification judged(double recommended, double start, int trials, bool disturbed) {
  const RunRecord run = sample_run();
  Verification verification;
  verification.baseline = run.search.baseline;
  verification.recommended = run.result.recommendation.knobs;
  for (int i = 0; i < trials; ++i) {
    const double rates[] = {recommended * run.result.recommendation.samples_per_second.median,
                            start * run.result.baseline.samples_per_second.median};
    verification.trials.push_back(measured(verification.recommended, rates[0]));
    if (start > 0) verification.trials.push_back(measured(verification.baseline, rates[1]));
  }
  for (Trial& trial : verification.trials) {
    if (!disturbed) continue;
    for (Sample& sample : trial.samples) sample.interference.spoilt_by = "others used 1.4 CPUs";
  }
  judge_verification(run, {}, verification);
  return verification;
}

TEST(CommandLine, ReasonsOfVerifyAreChinese) {
  for (const double recommended : {1.0, 0.5, 0.1}) {
    for (const double start : {1.0, 0.5, 0.0}) {
      for (const bool disturbed : {false, true}) {
        for (const int trials : {0, 1, 4}) {
          const std::string reason = judged(recommended, start, trials, disturbed).reason;
          EXPECT_NE(chinese_of(reason), reason);
        }
      }
    }
  }
}

TEST(CommandLine, ErrorsAreChinese) {
  EXPECT_EQ(chinese_of("'x' is not in PATH"), "PATH 中没有 'x'");
  EXPECT_EQ(chinese_of("train.py: trains with torch, --batch-size"),
            "train.py：训练，使用 torch，--batch-size");
  EXPECT_EQ(
      chinese_of("after 20.0 s: not one of 3 lines printed holds a speed, such as 'a'; --metric "
                 "a would read it"),
      "20.0 秒 后：输出的 3 行中没有一行含有速度，例如 'a'；--metric a 可读取它");
}

// Words of two languages in one sentence would be worse than English.
TEST(CommandLine, ClausesAreTranslatedIfEachIsKnown) {
  EXPECT_EQ(chinese_of("peak 1 GiB of 4 GiB; 'x' is not in PATH"),
            "峰值 1 GiB，上限 4 GiB；PATH 中没有 'x'");
  EXPECT_EQ(chinese_of("'x' is not in PATH; no such clause"), "'x' is not in PATH; no such clause");
}

}  // namespace
}  // namespace ocrtune
