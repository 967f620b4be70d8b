#include "tuner/session/verification.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

struct StepClock : Clock {
  double now = 0;
  double now_seconds() override { return now; }
  void sleep_seconds(double seconds) override { now += seconds; }
};

// Gives each setting its rate, with 2 % noise; two seconds a trial.
class ScriptedRunner : public Runner {
 public:
  explicit ScriptedRunner(StepClock& clock) : clock_(clock) {}
  Trial run(const Knobs& knobs, const TrialLimits&) override {
    clock_.now += 2;
    Trial trial = make(knobs, rates[knobs]);
    trial.peak_bytes = peak_bytes;
    trial.possible_peak_bytes = possible_peak_bytes;
    if (fails) {
      trial.outcome = Outcome::out_of_memory;
      trial.reason = "the kernel killed rank 1";
    }
    order.push_back(knobs);
    return trial;
  }
  Trial make(const Knobs& knobs, double rate) {
    Trial trial;
    trial.knobs = knobs;
    trial.outcome = Outcome::ok;
    const double level = rate * (1 + between_trials * random_.normal());
    for (int i = 0; i < 5; ++i) {
      Sample sample = window_of(level * (1 + 0.02 * random_.normal()));
      if (discarded) sample.interference.spoilt_by = "other processes used 1.4 CPUs";
      if (waits[knobs] > 0) {
        Interference& load = sample.interference;
        load.observed_seconds = 1;
        load.available_cpus = 2;
        load.external_cpus = 1.4;
        load.cpu_seconds = 2 * (1 - waits[knobs]);
        load.external_wait_seconds = 2 * waits[knobs];
        load.longest_external_wait_seconds = waits[knobs];
      }
      trial.samples.push_back(sample);
    }
    trial.samples_per_second = level;
    return trial;
  }
  std::map<Knobs, double> rates;
  std::map<Knobs, double>
      waits;  // seconds of each second for which its two threads wait for others
  std::vector<Knobs> order;
  std::uint64_t peak_bytes = 1 << 30, possible_peak_bytes = 0;
  bool fails = false, discarded = false;
  double between_trials = 0.005;

 private:
  StepClock& clock_;
  Random random_{7};
};

class VerificationTest : public testing::Test {
 protected:
  VerificationTest() : runner_(clock_) {
    best_.nproc = 2;
    run_.search.baseline = base_;
    run_.search.memory_limit_bytes = 4ULL << 30;
    run_.result.found = true;
    run_.result.recommendation.knobs = best_;
    for (int i = 0; i < 3; ++i) {
      run_.trials.push_back(runner_.make(base_, 100));
      run_.trials.push_back(runner_.make(best_, 180));
    }
    runner_.rates = {{base_, 100}, {best_, 180}};
  }
  Verification check() { return measure_again(run_, runner_, clock_, {}, {}); }

  StepClock clock_;
  ScriptedRunner runner_;
  Knobs base_, best_;
  RunRecord run_;
};

TEST_F(VerificationTest, WhatHoldsIsOk) {
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::ok) << verification.reason;
  EXPECT_NEAR(verification.gain_now.median, 1.8, 0.1);
  EXPECT_LE(verification.seconds, 60);
  ASSERT_GE(runner_.order.size(), 8u);
  EXPECT_EQ(runner_.order[0], best_);
  EXPECT_EQ(runner_.order[1], base_);
  EXPECT_EQ(runner_.order[2], base_);
  EXPECT_EQ(runner_.order[3], best_);
}

TEST_F(VerificationTest, AMachineThatBecameSlowerIsDrift) {
  runner_.rates = {{base_, 75}, {best_, 135}};
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::drift);
  EXPECT_THAT(verification.reason, testing::HasSubstr("it is the machine"));
}

TEST_F(VerificationTest, ALostGainIsDrift) {
  runner_.rates = {{base_, 190}, {best_, 178}};
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::drift);
  EXPECT_THAT(verification.reason, testing::HasSubstr("slower than the baseline"));
}

TEST_F(VerificationTest, SmallChangesWithinTheToleranceAreOk) {
  runner_.rates = {{base_, 97}, {best_, 173}};
  EXPECT_EQ(check().state, VerifyState::ok);
}

TEST_F(VerificationTest, AFailureIsUnsafeAtOnce) {
  runner_.fails = true;
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::unsafe);
  EXPECT_THAT(verification.reason, testing::HasSubstr("the kernel killed rank 1"));
  EXPECT_EQ(runner_.order.size(), 1u);
}

TEST_F(VerificationTest, MemoryBeyondTheMarginIsUnsafe) {
  runner_.peak_bytes = static_cast<std::uint64_t>(3.9 * (1ULL << 30));
  EXPECT_EQ(check().state, VerifyState::unsafe);
}

// tune calls the same evidence MEMORY NOT SURE.
TEST_F(VerificationTest, MemoryThatMayHaveBeenHeldIsOpen) {
  runner_.possible_peak_bytes = 5ULL << 30;
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::undecided);
  EXPECT_THAT(verification.reason, testing::HasSubstr("1.0 GiB and may have held 5.0 GiB"));
  run_.result.verdict.safety.state = SafetyState::unsure;  // as the claim said
  EXPECT_EQ(check().state, VerifyState::ok);
}

// Chosen for something else than its rate, as the least memory is.
TEST_F(VerificationTest, ASettingThatWasClaimedToBeSlowerMayBe) {
  runner_.rates = {{base_, 195}, {best_, 180}};
  run_.result.gain = {0.92, 0.9, 0.94};
  run_.result.recommendation.samples_per_second = {180, 175, 185};
  run_.result.baseline.samples_per_second = {195, 190, 200};
  EXPECT_EQ(check().state, VerifyState::ok) << check().reason;
}

TEST_F(VerificationTest, BaselineAndRecommendationMayBeOne) {
  run_.result.recommendation.knobs = base_;
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::ok) << verification.reason;
}

TEST_F(VerificationTest, TrialsThatScatterWidelySettleNothingAndGetMoreTime) {
  runner_.between_trials = 0.5;
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::undecided) << verification.reason;
  EXPECT_THAT(verification.reason, testing::HasSubstr("do not settle it"));
  EXPECT_GT(verification.seconds, 60);
  EXPECT_LE(verification.seconds, 120);
}

TEST_F(VerificationTest, FewSamplesAreNoProofThatAllIsWell) {
  VerifyOptions options;
  options.min_trials = 1;
  options.seconds = 1;
  run_.trials.erase(run_.trials.begin() + 2, run_.trials.end());  // one old trial each
  const Verification verification = measure_again(run_, runner_, clock_, options, {});
  EXPECT_EQ(verification.state, VerifyState::undecided) << verification.reason;
}

TEST_F(VerificationTest, SlownessUnderOtherLoadIsNoDrift) {
  runner_.discarded = true;
  runner_.rates = {{base_, 60}, {best_, 100}};
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::undecided);
  EXPECT_THAT(verification.reason, testing::HasSubstr("discarded for other load"));
  EXPECT_EQ(verification.clean_samples, 0);
}

TEST_F(VerificationTest, AGoodRateInSpiteOfOtherLoadIsOkAndSaysSo) {
  runner_.discarded = true;
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::ok) << verification.reason;
  EXPECT_THAT(verification.reason, testing::HasSubstr("discarded"));
}

// Load on one of two CPUs costs one process nothing and two processes a third.
TEST_F(VerificationTest, AGainLostToUnobservedLoadIsUndecided) {
  runner_.discarded = true;
  runner_.rates = {{base_, 190}, {best_, 130}};
  EXPECT_EQ(check().state, VerifyState::undecided);
}

// Threads that wait for each other suffer most from other load: what they would do without it goes
// beyond what may be told, and the ratio is of the rates that stand beside it.
TEST_F(VerificationTest, TheGainIsThatOfTheRatesThatAreShown) {
  runner_.discarded = true;
  runner_.rates = {{base_, 20}, {best_, 123}};
  runner_.waits = {{base_, 0.95}, {best_, 0.3}};
  const Verification verification = check();
  EXPECT_NEAR(verification.gain_now.median, 6.2, 0.2);
  EXPECT_NEAR(verification.rate_now.median, 123, 3);
  EXPECT_NEAR(verification.baseline_now.median, 20, 1);
  EXPECT_EQ(verification.state, VerifyState::undecided) << verification.reason;
}

TEST_F(VerificationTest, AGainBesideLoadThatIsGoneBesideLoadIsDrift) {
  runner_.discarded = true;
  runner_.rates = {{base_, 100}, {best_, 90}};
  runner_.waits = {{base_, 0.3}, {best_, 0.3}};
  EXPECT_EQ(check().state, VerifyState::undecided);
  run_.result.verdict.beside_load = true;
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::drift) << verification.reason;
}

TEST_F(VerificationTest, AGainThatIsGoneIsDriftThoughTheRateHolds) {
  runner_.rates = {{base_, 172}, {best_, 180}};
  const Verification verification = check();
  EXPECT_EQ(verification.state, VerifyState::drift) << verification.reason;
  EXPECT_THAT(verification.reason, testing::HasSubstr("gain over the baseline is 1.0"));
  EXPECT_THAT(verification.reason, testing::HasSubstr("1.80"));
}

TEST_F(VerificationTest, TheClaimIsTheRunsOwn) {
  run_.result.recommendation.samples_per_second = {176, 170, 183};
  run_.result.baseline.samples_per_second = {101, 97, 105};
  run_.result.gain = {1.74, 1.65, 1.83};
  const Verification verification = check();
  EXPECT_DOUBLE_EQ(verification.rate_then.median, 176);
  EXPECT_DOUBLE_EQ(verification.baseline_then.high, 105);
  EXPECT_DOUBLE_EQ(verification.gain_then.low, 1.65);
}

TEST_F(VerificationTest, WithoutOldRatesNothingIsDecided) {
  run_.trials.clear();
  EXPECT_EQ(check().state, VerifyState::undecided);
}

}  // namespace
}  // namespace ocrtune
