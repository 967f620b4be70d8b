#include "tuner/verdict/settings.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

Trial ran(int nproc, double rate, const char* phase) {
  Trial trial;
  trial.knobs.nproc = nproc;
  trial.phase = phase;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  Sample sample;
  sample.samples_per_second = rate;
  trial.samples.push_back(sample);
  return trial;
}

struct Host {
  double noise;   // of a repeat, of its logarithm
  double uneven;  // by which the loud setting's repeats are noisier
  double drift;   // relative amplitude of a slow wave over the run
  double outlier_share;
};

struct Coverage {
  double held = 0;        // share of the intervals that hold the true ratio
  double half_width = 0;  // of the middle one, a logarithm
};

// Many short tunes of one truth: setting 2 is three times as fast as setting 1, which ran first and
// again in each round of the race.
Coverage coverage_of(const Host& host) {
  constexpr int kTunes = 600, kBefore = 15, kRounds = 3;
  constexpr double kTruth = 3;
  Random random(7);
  int held = 0;
  std::vector<double> widths;
  for (int tune = 0; tune < kTunes; ++tune) {
    const double phase = random.uniform(0, 2 * M_PI);
    int now = 0;
    std::vector<Trial> trials;
    const auto run = [&](int nproc, double rate, const char* why) {
      const double wave = std::sin(phase + 2 * M_PI * now++ / 40);
      double seen = rate * (1 + host.drift * wave);
      seen *= std::exp(random.normal() * host.noise * (nproc == 2 ? host.uneven : 1));
      if (random.uniform() < host.outlier_share) seen *= 1 - random.uniform(0, 0.4);
      trials.push_back(ran(nproc, seen, why));
    };
    run(1, 100, "baseline");
    for (int i = 0; i < kBefore; ++i) run(3 + i, 200, "model");
    run(2, kTruth * 100, "model");
    for (int round = 0; round < kRounds; ++round) {
      run(2, kTruth * 100, "race");
      run(1, 100, "race");
      run(3, 200, "race");
    }
    const double noise = repeat_noise(trials, 0.03);
    const std::vector<Setting> settings = settings_of(trials, noise);
    Knobs one, two;
    one.nproc = 1;
    two.nproc = 2;
    const Interval gain =
        gain_interval(*find_setting(settings, two), *find_setting(settings, one), noise);
    held += gain.low <= kTruth && kTruth <= gain.high ? 1 : 0;
    widths.push_back(std::log(gain.high / gain.low) / 2);
  }
  return {static_cast<double>(held) / kTunes, median(widths)};
}

TEST(GainInterval, HoldsTheTruthOnAQuietHost) {
  const Coverage quiet = coverage_of({0.01, 1, 0, 0});
  EXPECT_GE(quiet.held, 0.95);
  EXPECT_LT(quiet.half_width, 0.06);
}

TEST(GainInterval, HoldsTheTruthUnderDriftAndUnevenNoise) {
  EXPECT_GE(coverage_of({0.05, 1, 0.15, 0}).held, 0.93);
  EXPECT_GE(coverage_of({0.10, 1, 0.10, 0.1}).held, 0.93);
  EXPECT_GE(coverage_of({0.03, 4, 0.10, 0}).held, 0.93);
}

TEST(GainInterval, GrowsWithWhatTheTwoDiffer) {
  const double even = coverage_of({0.03, 1, 0, 0}).half_width;
  const double uneven = coverage_of({0.03, 5, 0, 0}).half_width;
  EXPECT_GT(uneven, 2 * even);
}

TEST(GainInterval, DriftCancelsInTheRounds) {
  const double still = coverage_of({0.03, 1, 0, 0}).half_width;
  const double drifting = coverage_of({0.03, 1, 0.2, 0}).half_width;
  EXPECT_LT(drifting, 2.5 * still);
}

}  // namespace
}  // namespace ocrtune
