// The proof of a winner: what is stored, what is claimed, what is left unproved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_jobs.h"
#include "tuner/session/session.h"
#include "tuner/slo/slo_words.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::Not;

RunRecord winner() {
  RunRecord run;
  run.job = reading_job("p99=50ms");
  run.search.budget_seconds = 900;
  run.result.found = true;
  run.result.recommendation.knobs.nproc = 2;
  run.result.recommendation.samples_per_second = {100, 95, 105};
  return run;
}

struct Prover : Runner {
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial = answer;
    trial.knobs = knobs;
    seconds = limits.measure_seconds;
    return trial;
  }
  Trial answer;
  double seconds = 0;
};

// Runs the proof with this answer; the rate that was asked for goes to `rate`.
std::optional<Trial> proof(const RunRecord& run, const Trial& answer, double* rate = nullptr) {
  return prove_winner(
      run,
      [&](const RateToProve& asked) -> Result<std::unique_ptr<Runner>> {
        if (rate != nullptr) *rate = asked.requests_per_second;
        auto prover = std::make_unique<Prover>();
        prover->answer = answer;
        return std::unique_ptr<Runner>(std::move(prover));
      },
      20);
}

Trial proved_at(double rate) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  Sample sample;
  sample.samples_per_second = rate;
  sample.seconds = 12;
  sample.steps = 1100;
  trial.samples = {sample};
  return trial;
}

TEST(SloProof, TheRateWithinTheSloIsWhatWasProved) {
  RunRecord run = winner();
  double rate = 0;
  const auto trial = proof(run, proved_at(90), &rate);
  ASSERT_TRUE(trial);
  EXPECT_LT(rate, 100);
  EXPECT_GT(rate, 90);
  EXPECT_EQ(trial->phase, kProofPhase);
  run.trials.push_back(*trial);
  speak_of_slo(run);
  EXPECT_EQ(run.result.recommendation.samples_per_second.median, 90);
  EXPECT_EQ(run.result.recommendation.samples_per_second.low, 90);
  EXPECT_EQ(run.result.answer.code, ReasonCode::launch_at_target);
  EXPECT_EQ(run.result.answer.number(1), 90);
  EXPECT_EQ(run.result.answer.nested(3).code, ReasonCode::proved_at_length);
  EXPECT_EQ(run.result.answer.nested(3).number(0), 1100);
}

TEST(SloProof, WithoutAProofItIsSaid) {
  RunRecord run = winner();
  run.trials.push_back(proved_at(90));  // of the search
  run.trials.back().knobs = run.result.recommendation.knobs;
  speak_of_slo(run);
  EXPECT_LT(run.result.recommendation.samples_per_second.median, 100);
  EXPECT_EQ(run.result.answer.nested(3).code, ReasonCode::not_proved_at_length);
}

TEST(SloProof, AHigherRateThatThereWasNoTimeForIsSaid) {
  const auto codes = [](const std::vector<bool>& ended_early) {
    RunRecord run = winner();
    for (const bool early : ended_early) {
      run.trials.push_back(proved_at(90));
      run.trials.back().knobs = run.result.recommendation.knobs;
      run.trials.back().service.ended_early = early;
    }
    speak_of_slo(run);
    std::vector<ReasonCode> found;
    for (const Reason& one : run.result.recommendation.reasons) found.push_back(one.code);
    return found;
  };
  EXPECT_THAT(codes({true, true}), Contains(ReasonCode::rate_may_be_higher));
  EXPECT_THAT(codes({true, false}), Not(Contains(ReasonCode::rate_may_be_higher)));
}

TEST(SloProof, OnlyAViolatedSloSpeaksAgainstTheSetting) {
  const RunRecord run = winner();
  Trial trial;
  trial.outcome = Outcome::timed_out;  // too little time to tell
  trial.cause = "promise";
  EXPECT_FALSE(proof(run, trial));
  trial.outcome = Outcome::unsupported;
  const auto refuted = proof(run, trial);
  ASSERT_TRUE(refuted);
  EXPECT_FALSE(refuted->ok());
}

TEST(SloProof, NoSloNothingProved) {
  RunRecord run = winner();
  EXPECT_NEAR(proof_seconds(run.job, run.search), (20 + 4.5 * 459) * 0.05, 1);  // p99, 50 ms
  run.search.budget_seconds = 10;
  EXPECT_EQ(proof_seconds(run.job, run.search), 4);
  run.job = reading_job();
  EXPECT_EQ(proof_seconds(run.job, run.search), 0);
  EXPECT_FALSE(proof(run, proved_at(90)));
  run = winner();
  run.result.found = false;
  EXPECT_FALSE(proof(run, proved_at(90)));
}

}  // namespace
}  // namespace ocrtune
