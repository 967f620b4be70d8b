#include "core/train/learning_schedule.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

TEST(LearningSchedule, ConstantStaysAtThePeak) {
  const LearningSchedule schedule{"constant", 2e-3, 0, 0};
  EXPECT_EQ(schedule.rate_at(0), 2e-3);
  EXPECT_EQ(schedule.rate_at(1'000'000), 2e-3);
}

TEST(LearningSchedule, WarmUpRisesInEqualPartsToThePeak) {
  for (const char* shape : {"constant", "cosine"}) {
    const LearningSchedule schedule{shape, 1.0, 4, 10};
    EXPECT_DOUBLE_EQ(schedule.rate_at(0), 0.25) << shape;
    EXPECT_DOUBLE_EQ(schedule.rate_at(1), 0.5) << shape;
    EXPECT_DOUBLE_EQ(schedule.rate_at(3), 1.0) << shape;
    EXPECT_DOUBLE_EQ(schedule.rate_at(4), 1.0) << shape;
  }
}

TEST(LearningSchedule, CosineFallsToZeroAtTheEndOfTheRun) {
  const LearningSchedule schedule{"cosine", 4.0, 100, 500};
  EXPECT_DOUBLE_EQ(schedule.rate_at(100), 4.0);
  EXPECT_NEAR(schedule.rate_at(200), 2 + 2 * 0.70710678118654752, 1e-12);
  EXPECT_NEAR(schedule.rate_at(300), 2.0, 1e-12);
  EXPECT_NEAR(schedule.rate_at(400), 2 - 2 * 0.70710678118654752, 1e-12);
  EXPECT_GT(schedule.rate_at(499), 0);
  EXPECT_LT(schedule.rate_at(499), 1e-4);
  EXPECT_EQ(schedule.rate_at(500), 0);
  EXPECT_EQ(schedule.rate_at(100'000), 0);
}

TEST(LearningSchedule, TakesWhatMakesSense) {
  EXPECT_TRUE(check_schedule({"constant", 1e-3, 0, 0}));
  EXPECT_TRUE(check_schedule({"constant", 1e-3, 500, 100}));  // a run that ends while it warms up
  EXPECT_TRUE(check_schedule({"cosine", 1e-3, 99, 100}));
}

TEST(LearningSchedule, RefusesTheRestInOneLine) {
  const auto complaint = [](const LearningSchedule& schedule) {
    const Status checked = check_schedule(schedule);
    EXPECT_FALSE(checked);
    if (checked) return std::string();
    EXPECT_EQ(checked.error().kind, ErrorKind::usage);
    return checked.error().what;
  };
  EXPECT_THAT(complaint({"cosin", 1e-3, 0, 10}), HasSubstr("cosin: did you mean cosine?"));
  EXPECT_THAT(complaint({"step", 1e-3, 0, 10}), HasSubstr("step: there is constant, cosine"));
  EXPECT_THAT(complaint({"cosine", 1e-3, 10, 10}), HasSubstr("no step left to fall in"));
  EXPECT_THAT(complaint({"constant", 1e-3, -1, 10}), HasSubstr("warm-up of -1 steps"));
  for (const double rate : {0.0, -1e-3, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(complaint({"constant", rate, 0, 10}), HasSubstr("is no positive number"));
  }
}

}  // namespace
}  // namespace ocrtune
