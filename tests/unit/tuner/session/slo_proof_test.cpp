// The proof of a winner: what is stored, what is claimed, what is left unproved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_jobs.h"
#include "tests/support/sample_windows.h"
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
    asked = limits;
    return trial;
  }
  Trial answer;
  TrialLimits asked;
};

// Runs the proof in 20 s with this answer; what was asked for goes to `asked`.
std::optional<Trial> proof(const RunRecord& run, const Trial& answer,
                           TrialLimits* asked = nullptr) {
  Prover prover;
  prover.answer = answer;
  auto trial = prove_winner(run, prover, 20);
  if (asked != nullptr) *asked = prover.asked;
  return trial;
}

Trial proved_at(double rate) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  Sample sample = window_of(rate, 12);
  sample.steps = 1100;
  trial.samples = {sample};
  return trial;
}

TEST(SloProof, TheRateWithinTheSloIsWhatWasProved) {
  RunRecord run = winner();
  TrialLimits asked;
  const auto trial = proof(run, proved_at(90), &asked);
  ASSERT_TRUE(trial);
  EXPECT_LT(asked.proves.requests_per_second, 100);
  EXPECT_GT(asked.proves.requests_per_second, 90);
  EXPECT_EQ(asked.max_seconds, 20) << "its start and its end are of the budget too";
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

// One worker that takes 10 ms, which its closed loads show.
Trial out_of_time() {
  Trial trial;
  trial.knobs.nproc = 2;
  trial.outcome = Outcome::timed_out;
  trial.cause = "promise";
  trial.service.alone_seconds = 0.01;
  trial.service.loads = {{1, 99, 0.01, 0.01, 0.01, 0, 300, 0, ""},
                         {2, 100, 0.02, 0.02, 0.02, 0, 300, 0, ""}};
  return trial;
}

TEST(SloProof, ASettingWhoseTrialsHadNoTimeForARateIsProvedByWhatTheyMeasured) {
  RunRecord run = winner();
  run.result.found = false;
  run.trials = {out_of_time()};
  TrialLimits asked;
  const auto trial = proof(run, proved_at(80), &asked);
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->knobs, run.trials[0].knobs);
  EXPECT_GT(asked.proves.requests_per_second, 40);
  EXPECT_LT(asked.proves.requests_per_second, 100);
  EXPECT_EQ(asked.proves.queue.slots, 1);
  run.trials.push_back(*trial);
  run.trials.back().outcome = Outcome::unsupported;
  EXPECT_FALSE(setting_to_prove(run)) << "its proof has failed: no further one is made";
  speak_of_slo(run);
  EXPECT_EQ(run.result.answer.code, ReasonCode::no_rate_proved);
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
