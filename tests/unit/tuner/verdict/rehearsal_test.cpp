#include "tuner/verdict/rehearsal.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "trial/workloads/command/command_workload.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

Trial trial_of(int batch, double rate, std::uint64_t peak) {
  Trial trial;
  trial.knobs.batch = batch;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  trial.peak_bytes = peak;
  trial.samples = {window_of(rate)};
  return trial;
}

// Batches of 8 and 16 at 80 samples/s: steps of 0.1 and 0.2 s.
std::vector<Setting> two_settings() {
  return settings_of({trial_of(8, 80, 100 * kMiB), trial_of(16, 80, 200 * kMiB)}, 0.03);
}

const Setting& with_batch(const std::vector<Setting>& settings, int batch) {
  return *std::find_if(settings.begin(), settings.end(), [&](const Setting& setting) {
    return setting.summary.knobs.batch == batch;
  });
}

// Four windows of a rehearsal of batch 16 which evaluates for two seconds every kRehearsalSteps.
Trial rehearsal(double pause_seconds = 2) {
  Trial trial = trial_of(16, 80, 260 * kMiB);
  trial.samples.assign(4, window_of(80, 0.2 * kRehearsalSteps));
  for (Sample& sample : trial.samples) {
    sample.steps = kRehearsalSteps;
    sample.interference.observed_seconds = sample.seconds + pause_seconds;
  }
  return trial;
}

TEST(Rehearsal, ItsMemoryCountsForAllSettings) {
  auto settings = two_settings();
  const std::uint64_t most = weigh_rehearsals({rehearsal()}, settings);
  EXPECT_EQ(most, 60 * kMiB);
  EXPECT_EQ(with_batch(settings, 16).summary.peak_bytes, 260 * kMiB);
  EXPECT_EQ(with_batch(settings, 8).summary.peak_bytes, 160 * kMiB);
  const Reason said = rehearsal_reason({rehearsal()}, with_batch(settings, 8), 2000, most);
  EXPECT_EQ(said.code, ReasonCode::rehearsed_elsewhere);
}

TEST(Rehearsal, ItsTimeIsWhatTheStepsLeaveOfTheWallClock) {
  auto settings = two_settings();
  const std::uint64_t most = weigh_rehearsals({rehearsal()}, settings);
  const Reason said = rehearsal_reason({rehearsal()}, with_batch(settings, 16), 2000, most);
  ASSERT_EQ(said.code, ReasonCode::rehearsed_share);
  EXPECT_NEAR(said.number(0), 2, 0.05);
  EXPECT_EQ(said.number(1), 260.0 * kMiB);
  EXPECT_EQ(said.number(2), 2000);
  EXPECT_NEAR(said.number(3), 2 / 402.0, 1e-3);
  EXPECT_EQ(rehearsal_reason({rehearsal()}, with_batch(settings, 16), 0, most).code,
            ReasonCode::rehearsed);
}

TEST(Rehearsal, OneThatSawNoWholeEvaluationSaysSo) {
  auto settings = two_settings();
  Trial cut = rehearsal();
  cut.samples.resize(1);
  cut.outcome = Outcome::timed_out;
  EXPECT_EQ(rehearsal_reason({cut}, with_batch(settings, 16), 2000, 0).code,
            ReasonCode::rehearsal_not_over);
}

TEST(Rehearsal, AFailureIsTheEvaluationsUnlessItIsMemory) {
  auto settings = two_settings();
  Trial failed = rehearsal();
  failed.outcome = Outcome::crashed;
  failed.reason = "exit code 1: no such label file";
  weigh_rehearsals({failed}, settings);
  EXPECT_TRUE(with_batch(settings, 16).works());
  failed.log_tail =
      "Traceback (most recent call last):\n  File \"t.py\", line 7, in evaluate\nValueError: 6625 "
      "is not 11\n";
  const Reason why = rehearsal_reason({failed}, with_batch(settings, 16), 2000, 0);
  EXPECT_EQ(why.code, ReasonCode::rehearsal_failed);
  EXPECT_EQ(why.nested(0).text(0), "exit code 1: no such label file: ValueError: 6625 is not 11");
  failed.outcome = Outcome::out_of_memory;
  weigh_rehearsals({failed}, settings);
  EXPECT_FALSE(with_batch(settings, 16).works());
  EXPECT_EQ(settings.front().summary.knobs.batch, 8) << "what works comes first";
}

TEST(Rehearsal, WithoutOneNothingIsSaidOrAdded) {
  auto settings = two_settings();
  EXPECT_EQ(weigh_rehearsals({}, settings), 0U);
  EXPECT_EQ(with_batch(settings, 8).summary.peak_bytes, 100 * kMiB);
  EXPECT_TRUE(rehearsal_reason({}, with_batch(settings, 8), 2000, 0).empty());
}

}  // namespace
}  // namespace ocrtune
