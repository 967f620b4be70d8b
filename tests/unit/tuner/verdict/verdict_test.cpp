#include "tuner/verdict/verdict.h"

#include <gtest/gtest.h>

#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kOneMiB = 1 << 20;

RecommendOptions limit_of(std::uint64_t megabytes) {
  RecommendOptions options;
  options.host_limit_bytes = megabytes * kOneMiB;
  return options;
}

SettingSummary peaks(std::uint64_t read, std::uint64_t possible = 0) {
  Trial trial;
  trial.host_peak_bytes = trial.peak_bytes = read * kOneMiB;
  trial.possible_peak_bytes = possible * kOneMiB;
  SettingSummary summary;
  add_peaks(trial, summary);
  return summary;
}

// A tenth stays free: of 100 MiB, 90 are usable.
TEST(JudgeSafety, EachStateByTheLargestPeak) {
  EXPECT_EQ(judge_safety(peaks(89), SafetyState::safe, limit_of(100)).state, SafetyState::safe);
  EXPECT_EQ(judge_safety(peaks(91), SafetyState::safe, limit_of(100)).state, SafetyState::tight);
  EXPECT_EQ(judge_safety(peaks(89), SafetyState::grows, limit_of(100)).state, SafetyState::grows);
  EXPECT_EQ(judge_safety(peaks(89), SafetyState::safe, limit_of(0)).state,
            SafetyState::limit_unknown);
  EXPECT_EQ(judge_safety(peaks(0), SafetyState::safe, limit_of(100)).state, SafetyState::unsure);
}

TEST(JudgeSafety, AShortRiseIsNotSafeAndNoLeak) {
  const Reason trials = reason<ReasonCode::memory_may_grow_in_trials>(counted(2), counted(2),
                                                                      in_bytes(1), in_seconds(60));
  const Reason rose = reason<ReasonCode::soak_may_grow>(in_seconds(60), in_bytes(1));
  const Reason steady = reason<ReasonCode::soak_steady>(in_seconds(60), in_bytes(1));
  const Reason leaks = reason<ReasonCode::soak_grows>(in_seconds(60), in_bytes(1), in_bytes(9),
                                                      in_seconds(9), in_seconds(4));
  EXPECT_EQ(judge_growth({}, {}), SafetyState::safe);
  EXPECT_EQ(judge_growth(trials, {}), SafetyState::may_grow);
  EXPECT_EQ(judge_growth(trials, steady), SafetyState::safe);
  EXPECT_EQ(judge_growth(trials, leaks), SafetyState::grows);
  EXPECT_EQ(judge_growth({}, rose), SafetyState::may_grow);
  EXPECT_EQ(judge_safety(peaks(89), SafetyState::may_grow, limit_of(0)).state,
            SafetyState::may_grow);
  EXPECT_EQ(judge_safety(peaks(91), SafetyState::may_grow, limit_of(100)).state,
            SafetyState::tight);
}

// What 84 MiB kill although 48 were read: the program took 30 MiB more for some milliseconds.
TEST(JudgeSafety, APeakBetweenTwoReadingsIsNotSafe) {
  const Safety safety = judge_safety(peaks(48, 78), SafetyState::safe, limit_of(84));
  EXPECT_EQ(safety.state, SafetyState::unsure);
  EXPECT_EQ(safety.find(ResourceKind::host_memory)->possible, 78 * kOneMiB);
  EXPECT_EQ(judge_safety(peaks(48, 70), SafetyState::safe, limit_of(84)).state, SafetyState::safe);
}

TEST(JudgeSafety, RehearsalsAndSoaksCount) {
  SettingSummary summary = peaks(440);
  Trial soak;
  soak.host_peak_bytes = 598 * kOneMiB;
  add_peaks(soak, summary);
  EXPECT_EQ(judge_safety(summary, SafetyState::safe, limit_of(600)).state, SafetyState::tight);
  EXPECT_EQ(summary.host.peak, 598 * kOneMiB);
}

// A process that holds 23.9 of 24 GiB of its GPU, and next to nothing on the host.
TEST(JudgeSafety, AFullGpuIsNotSafe) {
  Trial trial;
  trial.host_peak_bytes = kOneMiB;
  trial.gpus = {{0, 1, true, 23900 * kOneMiB, 24000 * kOneMiB},
                {1, 0, false, 23990 * kOneMiB, 24000 * kOneMiB}};
  SettingSummary summary;
  add_peaks(trial, summary);
  RecommendOptions options = limit_of(1000);
  options.uses_gpus = true;
  const Safety full = judge_safety(summary, SafetyState::safe, options);
  EXPECT_EQ(full.state, SafetyState::tight);
  EXPECT_EQ(full.by, ResourceKind::gpu_memory);
  EXPECT_EQ(full.find(ResourceKind::gpu_memory)->peak, 23900 * kOneMiB)
      << "a GPU that the trial left idle is another program's";
  trial.gpus = {};
  SettingSummary unseen;
  add_peaks(trial, unseen);
  const Safety unknown = judge_safety(unseen, SafetyState::safe, options);
  EXPECT_NE(unknown.state, SafetyState::safe) << "nobody saw what the GPU held";
  EXPECT_EQ(unknown.by, ResourceKind::gpu_memory);
}

// A cluster's pods have pids.max; a shell has `ulimit -n`.
TEST(JudgeSafety, TooFewTasksOrFilesLeftIsNotSafe) {
  Trial trial;
  trial.host_peak_bytes = 10 * kOneMiB;
  trial.tasks = {50, 100};
  trial.files = {900, 1024};
  SettingSummary summary;
  add_peaks(trial, summary);
  EXPECT_EQ(judge_safety(summary, SafetyState::safe, limit_of(100)).state, SafetyState::safe);
  trial.tasks = {95, 100};
  add_peaks(trial, summary);
  const Safety tasks = judge_safety(summary, SafetyState::safe, limit_of(100));
  EXPECT_EQ(tasks.state, SafetyState::tight);
  EXPECT_EQ(tasks.by, ResourceKind::tasks);
  trial.tasks = {};
  trial.files = {1000, 1024};
  SettingSummary files;
  add_peaks(trial, files);
  EXPECT_EQ(judge_safety(files, SafetyState::safe, limit_of(100)).by, ResourceKind::open_files);
}

TEST(JudgeAnswer, IsOneOfFour) {
  TuneResult result;
  EXPECT_EQ(judge_answer(result), Answer::none);
  result.found = true;
  result.baseline.knobs.nproc = 2;
  result.settings.resize(2);
  EXPECT_EQ(judge_answer(result), Answer::use);
  result.baseline.knobs = result.recommendation.knobs;
  EXPECT_EQ(judge_answer(result), Answer::keep);
  result.settings.resize(1);
  EXPECT_EQ(judge_answer(result), Answer::use) << "it was compared with nothing";
  result.inconclusive = reason<ReasonCode::only_rate>("nproc=1", counted(4));
  EXPECT_EQ(judge_answer(result), Answer::inconclusive);
}

}  // namespace
}  // namespace ocrtune
