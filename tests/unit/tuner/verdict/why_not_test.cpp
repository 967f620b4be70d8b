#include "tuner/verdict/why_not.h"

#include <gtest/gtest.h>

#include "tests/support/told_trials.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

class WhyNotTest : public Recommend {};

TEST_F(WhyNotTest, EveryKindHasItsAnswer) {
  options_.expected_noise = 0.01;
  race(setting(2), 90, 2);
  race(setting(4), 120, 4);
  trials_.push_back(failed(setting(8), Outcome::crashed, "signal 9"));
  const TuneResult found = result();
  const auto ask = [&](int nproc) {
    return why_not(setting(nproc), space_, *search_, trials_, found);
  };
  EXPECT_EQ(ask(4).kind, WhyNotKind::chosen);
  EXPECT_EQ(ask(2).kind, WhyNotKind::measured);
  EXPECT_EQ(ask(2).answer.nested(1).code, ReasonCode::rate_than_recommended);
  EXPECT_NEAR(ask(2).ratio.median, 0.75, 0.01);
  EXPECT_EQ(ask(8).kind, WhyNotKind::failed);
  EXPECT_EQ(ask(8).answer.nested(0).nested(1), verbatim("signal 9"));
  trials_.push_back(failed(setting(1), Outcome::out_of_memory, "the kernel killed it"));
  EXPECT_EQ(ask(1).answer,
            reason<ReasonCode::was_run_and_ended>(reason<ReasonCode::ended_with>(
                outcome_reason(Outcome::out_of_memory), verbatim("the kernel killed it"))));
  EXPECT_EQ(ask(64).kind, WhyNotKind::outside);
  EXPECT_FALSE(ask(1).answer.empty());
}

// The search predicts for an idle machine, and the answer beside load is as it was measured.
TEST_F(WhyNotTest, APredictionIsToldBesideTheSameLoad) {
  race(setting(4), 120, 4);
  TuneResult found = result();
  found.verdict.beside_load = true;
  found.predicted = {{setting(2), {63, 50, 80}, 0, true, {}}};
  const WhyNot why = why_not(setting(2), space_, *search_, trials_, found);
  EXPECT_EQ(why.samples_per_second.median, 63);
  const double chosen = found.recommendation.samples_per_second.median;
  EXPECT_NEAR(why.ratio.median, 63 / chosen, 1e-9);
}

TEST_F(WhyNotTest, AKnobThatWasLeftToTheCommandIsOutside) {
  race(setting(4), 120, 4);
  RunRecord run;
  run.trials = trials_;
  run.result = result();
  run.search.axes["threads"] = {"1"};
  run.search.absent = {"threads"};
  for (const char* asked : {"threads=1", "threads=2"}) {
    const auto answer = why_not({asked}, space_, *search_, run);
    ASSERT_TRUE(answer.ok()) << answer.error().what;
    EXPECT_EQ(answer->kind, WhyNotKind::outside) << asked;
    EXPECT_EQ(answer->answer, reason<ReasonCode::knob_not_varied>("threads"));
  }
  EXPECT_EQ(why_not({"nproc=4"}, space_, *search_, run)->kind, WhyNotKind::chosen);
  EXPECT_FALSE(why_not({"nprok=4"}, space_, *search_, run).ok());
}

}  // namespace
}  // namespace ocrtune
