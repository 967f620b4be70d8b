#include "tuner/models/learning.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

constexpr Interval kTwice{2, 1.9, 2.1};

// A loss that falls by the factor e in so many samples.
Trial trained(std::int64_t global_batch, std::uint64_t seed, double scale_samples,
              double all_samples = 4000) {
  Trial trial;
  trial.outcome = Outcome::ok;
  Learning& learning = trial.learning;
  learning.global_batch = global_batch;
  learning.seed = seed;
  learning.rate_factor = learning_rate_factor(global_batch, 8);
  for (std::int64_t step = 1; static_cast<double>(step * global_batch) <= all_samples; ++step) {
    const auto samples = static_cast<double>((step - 1) * global_batch);
    learning.points.push_back({samples, static_cast<double>(global_batch),
                               20 * std::exp(-samples / scale_samples), 0, 0});
  }
  return trial;
}

TEST(Learning, TheRateGoesWithTheSquareRootOfTheBatch) {
  EXPECT_DOUBLE_EQ(learning_rate_factor(32, 8), 2);
  EXPECT_DOUBLE_EQ(learning_rate_factor(8, 8), 1);
  EXPECT_DOUBLE_EQ(learning_rate_factor(0, 8), 1);
}

TEST(Learning, SmoothsOverSamplesAtTheirMiddle) {
  Learning learning;
  double samples = 0;
  for (const double loss : {9.0, 7.0, 5.0, 3.0}) {
    learning.points.push_back({samples, 10, loss, 0, 0});
    samples += 10;
  }
  const SmoothedLoss run = smoothed_loss(learning, 20);
  ASSERT_EQ(run.loss.size(), 3U);
  EXPECT_DOUBLE_EQ(run.loss[0], 8);
  EXPECT_DOUBLE_EQ(run.samples[0], 5);
  EXPECT_DOUBLE_EQ(run.loss[1], 6);
  EXPECT_DOUBLE_EQ(run.samples[1], 15);
  EXPECT_DOUBLE_EQ(run.loss[2], 4);
  EXPECT_DOUBLE_EQ(*samples_to(run, 7), 10);
  EXPECT_FALSE(samples_to(run, 3.9).has_value());
}

// Of a loss that falls to a floor and scatters there: the larger batch takes twice the samples to
// any loss above it. Compared at the lowest loss, the scatter decides.
TEST(Learning, ScatterAtTheFloorDecidesNothing) {
  std::vector<Trial> trials;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const std::int64_t batch : {8, 64}) {
      Trial trial = trained(batch, seed, batch == 8 ? 1500 : 3000, 40'000);
      Random random(seed * 100 + static_cast<std::uint64_t>(batch));
      for (LearningPoint& point : trial.learning.points) point.loss += 2 + 0.2 * random.normal();
      trials.push_back(trial);
    }
  }
  const auto worth = proved_worth(trials, 8, 64, kTwice);
  ASSERT_TRUE(worth);
  EXPECT_NEAR(worth->efficiency.median, 0.5, 0.05);
  EXPECT_GT(worth->efficiency.low, 0.4);
  EXPECT_LT(worth->efficiency.high, 0.6);
}

// The answer does not depend on how far the smoothing reaches: a batch of 256 that learns exactly
// as fast by samples as one of 8 has an efficiency of 1.
TEST(Learning, SmoothingMovesNeitherRecipe) {
  std::vector<Trial> trials;
  for (const std::uint64_t seed : {1U, 2U}) {
    trials.push_back(trained(8, seed, 1500));
    trials.push_back(trained(256, seed, 1500, 5000));
  }
  const auto worth = proved_worth(trials, 8, 256, kTwice);
  ASSERT_TRUE(worth.has_value());
  EXPECT_NEAR(worth->efficiency.median, 1, 0.01);
}

TEST(Learning, SamplesToTheSameLossMakeTheRateWhatItIsWorth) {
  std::vector<Trial> trials;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const double luck = 1 + 0.02 * (static_cast<double>(seed) - 2);
    trials.push_back(trained(8, seed, 500 * luck));
    trials.push_back(trained(32, seed, 1000));
  }
  const auto worth = proved_worth(trials, 8, 32, kTwice);
  ASSERT_TRUE(worth.has_value());
  EXPECT_TRUE(worth->proved);
  EXPECT_EQ(worth->starts, 3);
  EXPECT_DOUBLE_EQ(worth->rate_factor, 2);
  EXPECT_NEAR(worth->efficiency.median, 0.5, 0.03);
  EXPECT_LT(worth->efficiency.low, worth->efficiency.median);
  EXPECT_GT(worth->efficiency.high, worth->efficiency.median);
  EXPECT_NEAR(worth->speedup.median, 1, 0.06);
  EXPECT_LE(worth->speedup.low, worth->efficiency.low * 2);
  EXPECT_NEAR(worth->loss, 20 * std::exp(-4.0), 0.1) << "where the slower one ends";
  EXPECT_NEAR(static_cast<double>(worth->samples), 2000, 120);
}

// Gradients of two halves of a batch of 8 whose noise scale is 24 samples.
Trial watched() {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.learning.global_batch = 8;
  trial.learning.parts = 2;
  trial.learning.rate_factor = 1;
  for (std::int64_t step = 1; step <= 100; ++step) {
    trial.learning.points.push_back(
        {8 * static_cast<double>(step), 8, 5, 1 + 24.0 / 4, 1 + 24.0 / 8});
  }
  return trial;
}

TEST(Learning, TheNoiseOfGradientsBoundsWhatASampleIsWorth) {
  const auto worth = worth_by_noise({trained(8, 1, 500), watched()}, 8, 32, kTwice);
  ASSERT_TRUE(worth.has_value());
  EXPECT_FALSE(worth->proved);
  EXPECT_NEAR(worth->noise_samples, 24, 1e-6);
  EXPECT_NEAR(worth->efficiency.median, 32.0 / 56, 1e-6);
  EXPECT_NEAR(worth->speedup.median, 2 * 32.0 / 56, 1e-6);
  EXPECT_NEAR(worth->efficiency.low, worth->efficiency.median, 1e-6) << "they do not scatter";
  EXPECT_EQ(worth->efficiency.high, 1) << "as though noise did not matter";
  EXPECT_NEAR(worth->speedup.low, 1.9 * 32.0 / 56, 1e-6) << "the rate's interval";
  EXPECT_NEAR(worth->speedup.high, 2.1, 1e-6);
  EXPECT_EQ(worth->samples, 800);
  EXPECT_FALSE(worth_by_noise({trained(8, 1, 500)}, 8, 32, kTwice).has_value());
  EXPECT_FALSE(worth_by_noise({watched()}, 16, 32, kTwice).has_value()) << "of another batch";
  EXPECT_FALSE(worth_by_noise({watched()}, 8, 4, kTwice).has_value()) << "no bound";
  EXPECT_FALSE(proved_worth({watched(), watched()}, 8, 32, kTwice).has_value());
}

// From the same first loss the other batch stays where it is.
TEST(Learning, ARecipeThatHardlyLearnsIsBounded) {
  std::vector<Trial> trials;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    trials.push_back(trained(8, seed, 500));
    trials.push_back(trained(64, seed, 1e6));
  }
  const auto worth = proved_worth(trials, 8, 64, kTwice);
  ASSERT_TRUE(worth.has_value());
  EXPECT_TRUE(worth->proved);
  EXPECT_LT(worth->loss, 18);
  EXPECT_GT(worth->loss, 17);
  EXPECT_EQ(worth->efficiency.low, 0);
  EXPECT_NEAR(worth->efficiency.high, static_cast<double>(worth->samples) / (4000 - 128), 0.01);
  EXPECT_NEAR(worth->speedup.high, 2.1 * worth->efficiency.high, 1e-9);
  for (Trial& trial : trials) {
    const Learning& learning = trial.learning;
    if (learning.global_batch == 8) trial = trained(8, learning.seed, 1e6);
  }
  EXPECT_FALSE(proved_worth(trials, 8, 64, kTwice).has_value()) << "neither learns";
}

TEST(Learning, NothingIsSaidOfRunsThatDidNotLearnOrStandAlone) {
  EXPECT_FALSE(proved_worth({}, 8, 32, kTwice).has_value());
  EXPECT_FALSE(proved_worth({trained(8, 1, 500), trained(32, 1, 900)}, 8, 32, kTwice).has_value())
      << "one start has no interval";
  std::vector<Trial> trials = {trained(8, 1, 500), trained(32, 1, 900), trained(8, 2, 500),
                               trained(32, 3, 900)};
  EXPECT_FALSE(proved_worth(trials, 8, 32, kTwice).has_value()) << "no second start has both";
  trials[3].learning.seed = 2;
  EXPECT_TRUE(proved_worth(trials, 8, 32, kTwice).has_value());
  trials[3] = trained(32, 2, 1e6);
  EXPECT_EQ(proved_worth(trials, 8, 32, kTwice)->efficiency.low, 0) << "its loss hardly fell";
  trials[3] = trained(32, 2, 900);
  for (LearningPoint& point : trials[3].learning.points) point.loss /= 200;
  EXPECT_FALSE(proved_worth(trials, 8, 32, kTwice).has_value()) << "another loss altogether";
  trials[3] = trained(32, 2, 900);
  trials[3].outcome = Outcome::crashed;
  EXPECT_FALSE(proved_worth(trials, 8, 32, kTwice).has_value());
}

}  // namespace
}  // namespace ocrtune
