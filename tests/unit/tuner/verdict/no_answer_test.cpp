// What is said where no setting is recommended.
#include <gtest/gtest.h>

#include "tests/support/told_trials.h"
#include "tuner/verdict/recommend.h"

namespace ocrtune {
namespace {

class NoAnswer : public Recommend {};

TEST_F(NoAnswer, HeadlineIsTheCommonestFailure) {
  trials_.push_back(failed(setting(1), Outcome::crashed, "images not found"));
  trials_.push_back(failed(setting(2), Outcome::crashed, "images not found"));
  trials_.push_back(failed(setting(8), Outcome::unsupported, "8 ranks with a batch of 16"));
  EXPECT_EQ(result().answer,
            reason<ReasonCode::none_works>(knobs_text(setting(1)), outcome_reason(Outcome::crashed),
                                           verbatim("images not found")));
}

// A rate that is not reached is not for want of a figure of memory.
TEST_F(NoAnswer, AnUnmetConstraintIsNamedWhereMemoryIsUnknown) {
  race(setting(4), 120, 4);
  for (Trial& trial : trials_) trial.peak_bytes = 0;
  options_.objective.min_samples_per_second = 500;
  EXPECT_EQ(result().answer.code, ReasonCode::constraints_not_met);
  options_.objective.min_samples_per_second = 0;
  EXPECT_EQ(result().answer.code, ReasonCode::launch_with);
}

TEST_F(NoAnswer, InterruptedBeforeAnyTrialSaysHowToGoOn) {
  options_.stop_reason = "interrupted";
  options_.run_id = "2026-11-21-abcde";
  EXPECT_EQ(result().answer, reason<ReasonCode::interrupted_before_first>("2026-11-21-abcde"));
}

}  // namespace
}  // namespace ocrtune
