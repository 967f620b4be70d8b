#include "tuner/models/repeats.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

using namespace ocrtune;

TEST(Repeats, NoiseIsThePriorWithoutRepeats) {
  EXPECT_DOUBLE_EQ(pooled_noise({}, 0.03), 0.03);
  EXPECT_DOUBLE_EQ(pooled_noise({{100}, {250}}, 0.03), 0.03);
}

TEST(Repeats, NoiseIsLearned) {
  for (const double noise : {0.015, 0.03, 0.12}) {
    Random random(7);
    std::vector<std::vector<double>> repeats;
    for (int setting = 1; setting <= 60; ++setting) {
      std::vector<double> rates;
      for (int i = 0; i < 3; ++i) {
        rates.push_back(100 * setting * std::exp(noise * random.normal()));
      }
      repeats.push_back(rates);
    }
    EXPECT_NEAR(pooled_noise(repeats, 0.03) / noise, 1, 0.15) << noise;
  }
}

TEST(Repeats, OneSlowedTrialDoesNotMakeAllUncertain) {
  const std::vector<std::vector<double>> quiet = {{100, 101, 99}, {80, 81}, {90, 89.5}};
  auto slow = quiet;
  slow[0].push_back(55);
  slow.push_back({100, 60});
  EXPECT_NEAR(pooled_noise(slow, 0.03), pooled_noise(quiet, 0.03), 0.002);
}

TEST(Repeats, WideNoiseIsNotMistakenForSlowedTrials) {
  const std::vector<std::vector<double>> wild = {{100, 75}, {100, 130}, {100, 70, 120}, {90, 125}};
  EXPECT_GT(pooled_noise(wild, 0.03), 0.12);
}

// A program whose launches land on one of two speeds, each half of the time.
TEST(Repeats, LaunchesThatDifferAgainAndAgainAreNoise) {
  const std::vector<std::vector<double>> launches = {
      {114, 114, 114}, {160, 114, 160, 114, 160}, {114, 160, 160, 160, 114, 114}};
  EXPECT_GT(pooled_noise(launches, 0.03), 0.12);
  const std::vector<std::vector<double>> few = {{160, 160, 114, 160, 160, 160, 114}, {160, 114}};
  EXPECT_GT(pooled_noise(few, 0.03), 0.1);
}

TEST(Repeats, NamesTheSlowedOnesOnly) {
  EXPECT_EQ(slowed({100, 101, 60, 99}, 0.02), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(slowed({100, 60}, 0.02), (std::vector<bool>{false, true}));
  EXPECT_EQ(slowed({100, 92}, 0.02), (std::vector<bool>{false, false}));
  EXPECT_EQ(slowed({100, 101, 160, 99}, 0.02), (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(slowed({100}, 0.02), (std::vector<bool>{false}));
  EXPECT_TRUE(slowed({}, 0.02).empty());
}
