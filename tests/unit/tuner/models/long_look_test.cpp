#include "tuner/models/long_look.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

Trial trial_of(const std::string& knobs, std::vector<double> rates, const char* phase = "sweep") {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.knobs = *parse_knobs({knobs});
  trial.phase = phase;
  double samples = 0;
  for (const double rate : rates) {
    trial.samples.push_back(window_of(rate, 2));
    samples += 2 * rate;
  }
  trial.samples_per_second = samples / (2 * static_cast<double>(rates.size()));
  return trial;
}

std::vector<double> rising(double from, double to) {
  std::vector<double> rates = {from, from * 1.01};
  for (int i = 0; i < 4; ++i) rates.push_back((from + to) / 2);
  for (int i = 0; i < 8; ++i) rates.push_back(i % 2 == 0 ? to : to * 1.01);
  return rates;
}

TEST(LongLook, AWarmUpThatOutlastsATrialIsFound) {
  const std::vector<Trial> trials = {
      trial_of("workers=1", {50, 51}), trial_of("workers=2", {75, 76}),
      trial_of("workers=4", {60, 61}), trial_of("workers=1", rising(50, 100), kLongPhase),
      trial_of("workers=2", rising(75, 120), kLongPhase)};
  const LongLook look = long_look(trials);
  EXPECT_NEAR(look.first_seconds, 4, 1e-9);
  EXPECT_NEAR(look.change, std::sqrt(2 * 1.6), 0.02);
  const std::vector<Trial> later = by_long_look(trials, look);
  EXPECT_NEAR(later[0].samples_per_second, 100.5, 1) << "to the rate of its own setting";
  EXPECT_NEAR(later[1].samples_per_second, 120.6, 1);
  const double least = 120.6 / 75.5;
  EXPECT_NEAR(later[2].samples_per_second, 60.5 * least, 1) << "nobody saw it rise by more";
  EXPECT_NEAR(later[3].samples_per_second, 100.5, 1);
  EXPECT_NEAR(later[4].samples_per_second, 120.6, 1);
  EXPECT_FALSE(long_look_reason(look).empty());
}

// Trials that came at other points of the warm-up say nothing of the rate behind it.
TEST(LongLook, UsualTrialsKeepTheirSpreadAndNotTheirLevel) {
  const std::vector<Trial> trials = {trial_of("workers=1", {60, 60}),
                                     trial_of("workers=1", {90, 90}),
                                     trial_of("workers=1", rising(50, 100), kLongPhase)};
  const auto later = by_long_look(trials, long_look(trials));
  EXPECT_NEAR(later[1].samples_per_second / later[0].samples_per_second, 1.5, 1e-6);
  EXPECT_NEAR(std::sqrt(later[0].samples_per_second * later[1].samples_per_second),
              later[2].samples_per_second, 1e-6);
}

TEST(LongLook, ASteadyRateChangesNothing) {
  const std::vector<Trial> trials = {trial_of("workers=1", {50, 51}),
                                     trial_of("workers=1", rising(50, 51), kLongPhase)};
  const LongLook look = long_look(trials);
  EXPECT_FALSE(look.changes());
  EXPECT_GT(look.seconds, 0);
  EXPECT_TRUE(long_look_reason(look).empty());
  EXPECT_EQ(by_long_look(trials, look)[1].samples.size(), trials[1].samples.size());
}

// As measured of OCRmyPDF on a virtual machine: what begins otherwise than earlier launches did,
// and differs no less from them than its later half does from its beginning.
TEST(LongLook, ADriftOfTheMachineIsNoChange) {
  const std::vector<double> rates = {0.69, 0.76, 0.72, 0.77, 0.83, 0.86, 0.9, 0.83, 0.79, 0.79};
  const Trial longer = trial_of("nproc=2", rates, kLongPhase);
  std::vector<Trial> trials = {
      longer,
      trial_of("nproc=1", {0.50, 0.54, 0.53, 0.52, 0.55, 0.5, 0.54, 0.5, 0.56}, kLongPhase)};
  for (const double rate : {0.690, 0.631, 0.695}) {
    trials.push_back(trial_of("nproc=2", {rate, rate, rate}));
  }
  for (const double rate : {0.495, 0.418, 0.429}) {
    trials.push_back(trial_of("nproc=1", {rate, rate, rate}));
  }
  EXPECT_FALSE(long_look(trials).changes());
  const Trial steady = trial_of("nproc=2", {0.7, 0.7, 0.7});
  EXPECT_TRUE(long_look({longer, steady, steady, steady}).changes()) << "beside steady launches";
}

TEST(LongLook, NoiseIsNoChange) {
  const std::vector<Trial> trials = {
      trial_of("workers=1", {40, 60}),
      trial_of("workers=1", {40, 60, 50, 55, 70, 45, 66, 52, 48, 71}, kLongPhase)};
  EXPECT_FALSE(long_look(trials).changes());
}

TEST(LongLook, ARateThatFallsIsFound) {
  const std::vector<Trial> trials = {trial_of("workers=1", {100, 101}),
                                     trial_of("workers=1", rising(100, 80), kLongPhase)};
  EXPECT_NEAR(long_look(trials).change, 0.8, 0.01);
}

// Checkpoints that usual trials never see: a setting that is faster between them, and pauses
// longer.
TEST(LongLook, PausesThatRecurArePartOfTheRate) {
  const auto with_pauses = [](double rate, double paused) {
    std::vector<double> rates = {rate, rate};
    for (int i = 0; i < 4; ++i) rates.insert(rates.end(), {rate, rate, paused});
    return rates;
  };
  const std::vector<Trial> trials = {trial_of("workers=1", {160, 161}),
                                     trial_of("workers=2", {200, 201}),
                                     trial_of("workers=1", with_pauses(160, 100), kLongPhase),
                                     trial_of("workers=2", with_pauses(200, 10), kLongPhase)};
  const std::vector<Trial> later = by_long_look(trials, long_look(trials));
  EXPECT_NEAR(later[0].samples_per_second, (10 * 160 + 4 * 100) / 14.0, 3);
  EXPECT_NEAR(later[1].samples_per_second, (10 * 200 + 4 * 10) / 14.0, 3);
}

// Data read ahead lasts longer with more workers: the winner falls, the start does not. Another
// that nobody saw for as long is not ahead of the winner for that.
TEST(LongLook, WhatWasNotLookedAtGainsNothingByIt) {
  const std::vector<Trial> trials = {
      trial_of("workers=1", {80, 81}), trial_of("workers=4", {160, 161}),
      trial_of("workers=8", {160, 161}), trial_of("workers=1", rising(80, 80), kLongPhase),
      trial_of("workers=4", rising(160, 80), kLongPhase)};
  const std::vector<Trial> later = by_long_look(trials, long_look(trials));
  EXPECT_NEAR(later[2].samples_per_second, later[1].samples_per_second, 1e-6);
}

}  // namespace
}  // namespace ocrtune
