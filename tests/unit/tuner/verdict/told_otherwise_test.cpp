// What a log tells and its steps, its clock or the number of its processes do not bear out.
#include <gtest/gtest.h>

#include "tests/support/told_trials.h"
#include "tuner/verdict/recommend.h"

namespace ocrtune {
namespace {

class ToldOtherwise : public Recommend {};

TEST_F(ToldOtherwise, AheadByTheLogAloneIsNoAnswer) {
  options_.baseline = setting(1);
  trials_.push_back(ran(setting(1), 160, 1, "baseline"));
  race(setting(1), 160, 1, 3);
  race(setting(2), 320, 1, 4);
  EXPECT_EQ(result().verdict.answer, Answer::use) << "a log without a step counter";
  const auto counted_shares = [&](double first, double second) {
    for (Trial& trial : trials_) {
      trial.counted_share = trial.knobs == setting(1) ? first : second;
    }
  };
  counted_shares(0.5, 0.25);
  const TuneResult found = result();
  EXPECT_EQ(found.verdict.answer, Answer::inconclusive);
  EXPECT_EQ(found.inconclusive.code, ReasonCode::log_against_clock);
  counted_shares(0.5, 0.47);
  EXPECT_EQ(result().verdict.answer, Answer::use) << "of one rank, or means over other times";
}

// The printed rate leaves out what a loader takes, and only that differs.
TEST_F(ToldOtherwise, BehindByTheLogAloneIsNoAnswer) {
  Knobs with_loader = setting(1);
  with_loader.workers = 2;
  options_.baseline = setting(1);
  trials_.push_back(ran(setting(1), 800, 1, "baseline"));
  race(setting(1), 800, 1, 3);
  race(with_loader, 800, 1, 4);
  EXPECT_EQ(result().verdict.answer, Answer::keep);
  for (Trial& trial : trials_) trial.counted_share = trial.knobs.workers == 2 ? 0.02 : 0.0125;
  EXPECT_EQ(result().inconclusive.code, ReasonCode::log_against_clock);
}

// A mean since the start, of which a compiler took five seconds; as many steps a second are more
// samples by a larger batch, unless the steps are pages.
TEST_F(ToldOtherwise, BehindByAMeanAloneIsNoAnswer) {
  options_.baseline = setting(1, 16);
  trials_.push_back(ran(setting(1, 16), 200, 1, "baseline"));
  race(setting(1, 16), 200, 1, 3);
  race(setting(1, 64), 142, 1, 4);
  for (Trial& trial : trials_) trial.counted_share = trial.knobs.batch == 64 ? 2.8 : 1;
  EXPECT_EQ(result().inconclusive.code, ReasonCode::log_against_clock);
  for (Trial& trial : trials_) trial.counts_to = 400;
  EXPECT_EQ(result().verdict.answer, Answer::keep);
}

// Calamari's bar counts lines: taken for steps, each is a batch, and 4 times the batch made 16
// times the rate.
TEST_F(ToldOtherwise, FourTimesTheBatchDoesNoMoreThanFourTimes) {
  options_.baseline = setting(1, 16);
  trials_.push_back(ran(setting(1, 16), 850, 1, "baseline"));
  race(setting(1, 16), 850, 1, 3);
  race(setting(1, 64), 13600, 2, 4);
  EXPECT_EQ(result().inconclusive.code, ReasonCode::beyond_its_batch);
  for (Trial& trial : trials_) {
    if (trial.knobs.batch == 16) continue;
    trial.samples_per_second /= 4;
    for (Sample& sample : trial.samples) sample.samples /= 4;
  }
  EXPECT_EQ(result().verdict.answer, Answer::use);
}

TEST_F(ToldOtherwise, TwoProcessesDoNoMoreThanTwice) {
  options_.baseline = setting(1);
  trials_.push_back(ran(setting(1), 100, 1, "baseline"));
  race(setting(1), 100, 1, 3);
  race(setting(2), 210, 1, 4);
  EXPECT_EQ(result().verdict.answer, Answer::use);
  for (Trial& trial : trials_) {
    if (trial.knobs.nproc != 2) continue;
    trial.samples_per_second = 320;
    for (Sample& sample : trial.samples) sample.samples = 320;
  }
  const TuneResult found = result();
  EXPECT_EQ(found.inconclusive.code, ReasonCode::beyond_its_processes);
  EXPECT_NEAR(found.inconclusive.number(1), 3.2, 0.02);
  options_.objective.rate = Unit::request_rate;
  EXPECT_EQ(result().verdict.answer, Answer::use) << "which were counted";
}

// Of 100,000 images an epoch is 6,250 steps of 16; where it is 3,125 steps of 64 these are of 32.
TEST_F(ToldOtherwise, AnEpochIsNoLargerByALargerBatch) {
  options_.baseline = setting(1, 16);
  trials_.push_back(ran(setting(1, 16), 200, 1, "baseline"));
  race(setting(1, 16), 200, 1, 3);
  race(setting(1, 64), 490, 1, 4);
  const auto count_to = [&](double first, double second) {
    for (Trial& trial : trials_) trial.counts_to = trial.knobs.batch == 16 ? first : second;
    return result().inconclusive.code;
  };
  EXPECT_EQ(count_to(6250, 1563), ReasonCode::none);
  EXPECT_EQ(count_to(6250, 6250), ReasonCode::none) << "so many steps were asked for";
  EXPECT_EQ(count_to(16, 64), ReasonCode::none) << "so many were right";
  EXPECT_EQ(count_to(6250, 3125), ReasonCode::totals_speak_against);
}

}  // namespace
}  // namespace ocrtune
