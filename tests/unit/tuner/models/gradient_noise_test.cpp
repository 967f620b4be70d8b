#include "tuner/models/gradient_noise.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

constexpr int kSize = 1000;

// Gradients of samples are normal around `mean` with the deviation `spread` in each of kSize
// directions: the noise scale is (spread / mean)^2.
Learning gaussian(double mean, double spread, int parts, int updates, std::uint64_t seed) {
  Learning learning;
  learning.global_batch = 16;
  learning.parts = parts;
  Random random(seed);
  const double part_spread = spread / std::sqrt(16.0 / parts);
  for (int update = 1; update <= updates; ++update) {
    LearningPoint point{16.0 * update, 16, 1, 0, 0};
    std::vector<double> whole(kSize);
    for (int part = 0; part < parts; ++part) {
      for (double& sum : whole) {
        const double gradient = mean + part_spread * random.normal();
        sum += gradient / parts;
        point.part_square += gradient * gradient / parts;
      }
    }
    for (const double gradient : whole) point.whole_square += gradient * gradient;
    learning.points.push_back(point);
  }
  return learning;
}

TEST(GradientNoise, IsFoundWithoutBiasFromTwoPartsOrEight) {
  for (const int parts : {2, 8}) {
    for (const double noise : {2.0, 40.0, 300.0}) {
      const Learning learning = gaussian(1, std::sqrt(noise), parts, 200, 7);
      const Interval scale = noise_scale(learning);
      EXPECT_NEAR(scale.median, noise, 0.15 * noise) << parts;
      EXPECT_LE(scale.low, noise) << parts;
      EXPECT_GE(scale.high, noise) << parts;
      EXPECT_LT(scale.high - scale.low, 0.5 * noise) << parts;
    }
  }
}

TEST(GradientNoise, ItsIntervalHoldsTheTruthAsOftenAsItSays) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Interval scale = noise_scale(gaussian(1, std::sqrt(40.0), 2, 60, seed));
    held += scale.low <= 40 && scale.high >= 40 ? 1 : 0;
  }
  EXPECT_GE(held, 33);
}

TEST(GradientNoise, ALargerBatchIsWorthLessThePlainerTheGradients) {
  const Learning noisy = gaussian(1, std::sqrt(4000.0), 2, 200, 3);
  const Learning plain = gaussian(1, std::sqrt(2.0), 2, 200, 3);
  EXPECT_NEAR(noise_efficiency(noisy, 64).median, 4016.0 / 4064, 0.04);
  EXPECT_NEAR(noise_efficiency(plain, 64).median, 18.0 / 66, 0.02);
  EXPECT_NEAR(noise_efficiency(plain, 16).median, 1, 1e-9);
  EXPECT_GT(noise_efficiency(plain, 8).median, 1.5);
}

TEST(GradientNoise, OfARunItsHarmonicMeanCounts) {
  Learning run = gaussian(1, std::sqrt(2.0), 2, 200, 3);
  const Learning later = gaussian(0.1, std::sqrt(40.0), 2, 200, 4);  // noise scale 4000
  for (const LearningPoint& point : later.points) {
    run.points.push_back(point);
    run.points.back().samples += 16 * 200;
  }
  const double harmonic = 2 / (1.0 / 2 + 1.0 / 4000);
  const Interval efficiency = noise_efficiency(run, 64);
  EXPECT_NEAR(efficiency.median, (16 + harmonic) / (64 + harmonic), 0.02);
  EXPECT_LE(efficiency.low, efficiency.median);
  EXPECT_EQ(efficiency.high, 1);
  EXPECT_EQ(noise_efficiency(run, 8).low, 1) << "of a smaller batch";
}

TEST(GradientNoise, NothingIsSaidWhereNothingWasMeasured) {
  Learning learning = gaussian(1, 2, 2, 15, 1);
  EXPECT_EQ(noise_scale(learning).high, 0) << "too few points";
  learning = gaussian(1, 2, 2, 40, 1);
  learning.parts = 0;
  EXPECT_EQ(noise_scale(learning).high, 0);
  EXPECT_EQ(noise_efficiency(learning, 64).high, 0);
  learning = gaussian(0, 2, 2, 40, 1);
  const Interval none = noise_scale(learning);
  EXPECT_TRUE(std::isinf(none.high)) << "no mean gradient is seen in the noise";
  EXPECT_GT(noise_efficiency(learning, 64).median, 0.9);
}

}  // namespace
}  // namespace ocrtune
