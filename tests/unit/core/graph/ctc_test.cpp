#include "core/graph/ctc.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/central_difference.h"

namespace ocrtune {
namespace {

std::vector<float> draw_logits(std::size_t count) {
  Random random(3);
  std::vector<float> logits(count);
  for (float& value : logits) value = static_cast<float>(random.uniform(-2, 2));
  return logits;
}

// What a path spells: repeats merged, then blanks dropped.
std::vector<int> spell(const std::vector<int>& path) {
  std::vector<int> label;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) label.push_back(path[t]);
  }
  return label;
}

// The definition: the sum of the probabilities of all paths that spell the label.
double loss_of_all_paths(const std::vector<float>& logits, int steps, int classes,
                         const std::vector<int>& label) {
  const int paths = static_cast<int>(std::pow(classes, steps));
  double total = 0;
  for (int number = 0; number < paths; ++number) {
    std::vector<int> path;
    double log_probability = 0;
    for (int t = 0, rest = number; t < steps; ++t, rest /= classes) {
      path.push_back(rest % classes);
      const float* row = logits.data() + t * classes;
      double sum = 0;
      for (int k = 0; k < classes; ++k) sum += std::exp(row[k]);
      log_probability += row[path.back()] - std::log(sum);
    }
    if (spell(path) == label) total += std::exp(log_probability);
  }
  return -std::log(total);
}

TEST(CtcLoss, MatchesTheSumOverAllPaths) {
  const int steps = 5, classes = 4;
  const std::vector<float> logits = draw_logits(steps * classes);
  const std::vector<std::vector<int>> labels = {{1},       {1, 2},    {2, 2},         {},
                                                {3, 1, 3}, {1, 1, 1}, {1, 2, 3, 1, 2}};
  for (const auto& label : labels) {
    const CtcLoss loss = ctc_loss(logits, steps, classes, {&label, 1}, nullptr);
    EXPECT_NEAR(loss.mean, loss_of_all_paths(logits, steps, classes, label), 1e-6);
    EXPECT_EQ(loss.impossible, 0);
  }
}

TEST(CtcLoss, GradientMatchesCentralDifferences) {
  const int steps = 6, classes = 5;
  const std::vector<std::vector<int>> labels = {{1, 2, 2}, {4}, {}};
  std::vector<float> logits = draw_logits(3 * steps * classes);
  std::vector<float> gradient(logits.size());
  ctc_loss(logits, steps, classes, labels, gradient.data());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float value = logits[i];
    const float step = 1.0F / 256;
    logits[i] = value + step;
    const double above = ctc_loss(logits, steps, classes, labels, nullptr).mean;
    logits[i] = value - step;
    const double below = ctc_loss(logits, steps, classes, labels, nullptr).mean;
    logits[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 1e-5);
  }
}

TEST(CtcLoss, CountsLabelsThatCannotBeSpelt) {
  const int steps = 3, classes = 3;
  const std::vector<float> logits = draw_logits(3 * steps * classes);
  // Two equal symbols need a blank between: {1, 1, 2} takes four steps.
  const std::vector<std::vector<int>> labels = {{1, 1, 2}, {1, 2, 1}, {1, 2, 1, 2}};
  std::vector<float> gradient(logits.size(), 7.0F);
  const CtcLoss loss = ctc_loss(logits, steps, classes, labels, gradient.data());
  EXPECT_EQ(loss.impossible, 2);
  EXPECT_TRUE(std::isinf(loss.sample_loss[0]));
  EXPECT_TRUE(std::isinf(loss.sample_loss[2]));
  EXPECT_EQ(loss.mean, loss.sample_loss[1]);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const bool possible = i / (steps * classes) == 1;
    EXPECT_EQ(gradient[i] != 0, possible);
  }
}

TEST(CtcLoss, StaysFiniteForHugeLogits) {
  const std::vector<float> logits = {500, -500, 0, -500, 500, 0, 500, 0, -500};
  const std::vector<std::vector<int>> labels = {{1}};
  std::vector<float> gradient(logits.size());
  const CtcLoss loss = ctc_loss(logits, 3, 3, labels, gradient.data());
  EXPECT_NEAR(loss.mean, 0, 1e-6);
  for (const float value : gradient) EXPECT_TRUE(std::isfinite(value));
}

// A diverged network is no label that is too long.
TEST(CtcLoss, SaysNoNumberWhereALogitIsNone) {
  constexpr int kSteps = 4, kClasses = 3;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = draw_logits(3 * kSteps * kClasses);
    logits[kSteps * kClasses + 5] = bad;  // of the second sample
    const std::vector<std::vector<int>> labels = {{1, 2}, {1}, {1, 1, 1}};
    std::vector<float> gradient(logits.size(), 7);
    const CtcLoss result = ctc_loss(logits, kSteps, kClasses, labels, gradient.data());
    EXPECT_TRUE(std::isfinite(result.sample_loss[0]));
    EXPECT_TRUE(std::isnan(result.sample_loss[1])) << bad;
    EXPECT_TRUE(std::isinf(result.sample_loss[2]));
    EXPECT_TRUE(std::isnan(result.mean));
    EXPECT_EQ(result.impossible, 1);
    for (int i = 0; i < kSteps * kClasses; ++i) {
      EXPECT_EQ(gradient[static_cast<std::size_t>(kSteps * kClasses + i)], 0);
    }
  }
}

}  // namespace
}  // namespace ocrtune
