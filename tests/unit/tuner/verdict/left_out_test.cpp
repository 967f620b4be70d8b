// A command that is told a larger batch and takes no more than before.
#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "tuner/verdict/choice.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kMillion = 1000000;

struct StepOfBatch {
  int batch = 0;
  double seconds = 0;      // of a step
  double cpu_seconds = 0;  // of a step
  std::uint64_t peak_bytes = 500 * kMillion;
};

std::vector<Setting> settings_that_step(const std::vector<StepOfBatch>& steps,
                                        const Knobs& baseline) {
  std::vector<Trial> trials;
  for (const StepOfBatch& step : steps) {
    Trial trial;
    trial.knobs.batch = step.batch;
    trial.outcome = Outcome::ok;
    trial.peak_bytes = trial.host_peak_bytes = step.peak_bytes;
    trial.samples_per_second = step.batch / step.seconds;
    Sample sample = window_of(trial.samples_per_second);
    sample.interference.observed_seconds = 1;
    sample.interference.cpu_seconds = step.cpu_seconds / step.seconds;
    sample.interference.available_cpus = 4;
    trial.samples.assign(5, sample);
    trials.push_back(trial);
    trials.push_back(trial);
  }
  auto settings = settings_of(trials, 0.02);
  mark_untaken_batches(settings, baseline);
  return settings;
}

Knobs of_batch(int batch) {
  Knobs knobs;
  knobs.batch = batch;
  return knobs;
}

bool is_left_out(const std::vector<Setting>& settings, int batch) {
  return find_setting(settings, of_batch(batch))->left_out();
}

TEST(LeftOut, ABatchThatChangesNothingOfAStep) {
  const auto capped = settings_that_step(
      {{8, 0.08, 0.07}, {16, 0.145, 0.14}, {32, 0.146, 0.14}, {64, 0.144, 0.141}}, of_batch(8));
  EXPECT_FALSE(is_left_out(capped, 8));
  EXPECT_FALSE(is_left_out(capped, 16)) << "the last one that was taken";
  EXPECT_TRUE(is_left_out(capped, 32));
  EXPECT_TRUE(is_left_out(capped, 64));
  EXPECT_TRUE(untaken_batch(capped).is(ReasonCode::batch_costs_nothing));
  EXPECT_FALSE(is_left_out(settings_that_step({{8, 0.1, 0.1}, {16, 0.1, 0.1}}, of_batch(16)), 16))
      << "the baseline is what it is";
}

TEST(LeftOut, NoBatchThatCostsMore) {
  const auto left_out = [](const StepOfBatch& larger) {
    const StepOfBatch smaller{8, 0.1, 0.1};
    return is_left_out(settings_that_step({smaller, larger}, of_batch(8)), 16);
  };
  EXPECT_TRUE(left_out({16, 0.1, 0.1}));
  EXPECT_FALSE(left_out({16, 0.13, 0.1})) << "time";
  EXPECT_FALSE(left_out({16, 0.1, 0.14})) << "CPU time";
  EXPECT_FALSE(left_out({16, 0.1, 0.1, 540 * kMillion})) << "memory";
  EXPECT_TRUE(untaken_batch({}).empty());
}

}  // namespace
}  // namespace ocrtune
