#include "trial/watch/learning_curve.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

StepEvent step(int rank, std::int64_t steps, std::int64_t samples, double loss) {
  StepEvent event;
  event.rank = rank;
  event.steps = steps;
  event.samples = samples;
  event.loss = loss;
  return event;
}

TEST(LearningCurve, ALossBelongsToTheWeightsBeforeItsStep) {
  LearningCurve curve(1, 8);
  for (const double loss : {9.0, 7.0, 5.0}) curve.add(step(0, 1, 8, loss));
  const auto points = curve.points();
  ASSERT_EQ(points.size(), 3U);
  EXPECT_DOUBLE_EQ(points[0].samples, 0);
  EXPECT_DOUBLE_EQ(points[2].samples, 16);
  EXPECT_DOUBLE_EQ(points[2].loss, 5);
  EXPECT_DOUBLE_EQ(points[2].weight, 8);
}

TEST(LearningCurve, RanksAndAccumulatedStepsMakeOneGlobalBatch) {
  LearningCurve curve(2, 16);  // of each rank two steps of 4 samples
  for (const int rank : {0, 1}) {
    for (const double loss : {4.0, 6.0, 2.0, 2.0}) curve.add(step(rank, 1, 4, loss + 2 * rank));
  }
  const auto points = curve.points();
  ASSERT_EQ(points.size(), 2U);
  EXPECT_DOUBLE_EQ(points[0].loss, 6);
  EXPECT_DOUBLE_EQ(points[0].samples, 0);
  EXPECT_DOUBLE_EQ(points[0].weight, 16);
  EXPECT_DOUBLE_EQ(points[1].loss, 3);
  EXPECT_DOUBLE_EQ(points[1].samples, 16);
}

TEST(LearningCurve, AnEventOfManyStepsStandsAtTheirMiddle) {
  LearningCurve curve(1, 10);
  curve.add(step(0, 10, 100, 5));  // losses at 0, 10, ... 90 samples
  ASSERT_EQ(curve.points().size(), 1U);
  EXPECT_DOUBLE_EQ(curve.points()[0].samples, 45);
}

TEST(LearningCurve, UnknownLossesArePassedOverAndTheirSamplesCount) {
  LearningCurve curve(1, 8);
  for (const double loss : {0.0, std::nan(""), 5.0}) curve.add(step(0, 1, 8, loss));
  ASSERT_EQ(curve.points().size(), 1U);
  EXPECT_DOUBLE_EQ(curve.points()[0].samples, 16);
}

TEST(LearningCurve, StaysShortAndKeepsItsMeans) {
  LearningCurve curve(1, 2);
  constexpr int kSteps = 5000;
  for (int i = 0; i < kSteps; ++i) {
    StepEvent event = step(0, 1, 2, i + 1);
    event.part_square = 2.0 * i;
    event.whole_square = i;
    curve.add(event);
  }
  const auto points = curve.points();
  EXPECT_GT(points.size(), 250U);
  EXPECT_LE(points.size(), 512U);
  double samples = 0;
  for (const LearningPoint& point : points) {
    EXPECT_NEAR(point.samples, 2 * (point.loss - 1), 1e-6);
    EXPECT_NEAR(point.part_square, 2 * point.whole_square, 1e-6);
    samples += point.weight;
  }
  EXPECT_DOUBLE_EQ(samples, 2 * kSteps);
}

TEST(LearningCurve, KeepsNothingOfATrialThatIsTimedAlone) {
  LearningCurve curve(1, 0);
  curve.add(step(0, 1, 8, 5));
  EXPECT_TRUE(curve.points().empty());
}

}  // namespace
}  // namespace ocrtune
