// Whole runs on a machine that others use too: what is claimed of two settings, against what they
// do when nobody disturbs. The strangers and the scheduler are mechanisms (tests/support), not the
// estimator's formulas.
#include <cmath>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "base/stats.h"
#include "tests/support/busy_trial.h"
#include "trial/observe/undisturbed_rate.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr int kRounds = 3;

Trial trial_of(int nproc, const char* phase, int round, std::vector<Sample> samples) {
  Trial trial;
  trial.knobs.nproc = nproc;
  trial.phase = phase;
  trial.round = round;
  trial.outcome = Outcome::ok;
  trial.samples = std::move(samples);
  trial.samples_per_second = undisturbed_rate(trial.samples).samples_per_second;
  return trial;
}

struct Claims {
  int runs = 0, rates_held = 0, gains_held = 0;
  std::vector<double> rate_errors, gain_errors;  // logarithms
  double naive_gain_error = 0;
};

Knobs processes(int nproc) {
  Knobs knobs;
  knobs.nproc = nproc;
  return knobs;
}

double middle_of(const std::vector<Sample>& samples) {
  std::vector<double> rates;
  for (const Sample& sample : samples) rates.push_back(sample.samples_per_second);
  return median(rates);
}

// The baseline of one rank, then races of it and of two ranks, whose step is a little dearer.
Claims claims_of(int runs, double least_share, double most_share) {
  ScheduledProgram one, two;
  two.ranks = 2;
  two.step_seconds = 0.033;
  const auto still = [](ScheduledProgram program) {
    program.trial_noise = 0;
    return true_rate(program);
  };
  const double true_one = still(one), true_two = still(two);
  Claims claims;
  Random random(5);
  for (int run = 0; run < runs; ++run) {
    const StrangerLoad load{1 + run % 2, random.uniform(least_share, most_share)};
    const double sharing = random.uniform(0, 0.2);
    const auto samples = [&](const ScheduledProgram& program) {
      return busy_samples(program, load, 1, sharing, random.next());
    };
    std::vector<Trial> trials = {trial_of(1, "baseline", 0, samples(one))};
    std::vector<double> naive;
    for (int round = 1; round <= kRounds; ++round) {
      trials.push_back(trial_of(1, "race", round, samples(one)));
      trials.push_back(trial_of(2, "race", round, samples(two)));
      const std::size_t last = trials.size() - 1;
      naive.push_back(
          std::log(middle_of(trials[last].samples) / middle_of(trials[last - 1].samples)));
    }
    const std::vector<Setting> settings = settings_of(trials, repeat_noise(trials, 0.03));
    const Setting& a = *find_setting(settings, processes(1));
    const Setting& b = *find_setting(settings, processes(2));
    const Interval gain = ratio_interval(b, a);
    const double truth = true_two / true_one;
    const auto holds = [](const Interval& interval, double value) {
      return interval.low <= value && value <= interval.high ? 1 : 0;
    };
    ++claims.runs;
    claims.rates_held += holds(a.estimate, true_one) + holds(b.estimate, true_two);
    claims.gains_held += holds(gain, truth);
    claims.rate_errors.push_back(std::log(a.estimate.median / true_one));
    claims.rate_errors.push_back(std::log(b.estimate.median / true_two));
    claims.gain_errors.push_back(std::log(gain.median / truth));
    claims.naive_gain_error += (median(naive) - std::log(truth)) / runs;
    EXPECT_NEAR(gain.median, b.estimate.median / a.estimate.median, 1e-9) << "one model for both";
  }
  return claims;
}

void report(const char* what, const Claims& claims) {
  std::printf("%s: rates held %.3f bias %+.4f, gains held %.3f bias %+.4f (as they are %+.3f)\n",
              what, claims.rates_held / 2.0 / claims.runs, mean(claims.rate_errors),
              claims.gains_held / static_cast<double>(claims.runs), mean(claims.gain_errors),
              claims.naive_gain_error);
}

void expect_held(const Claims& claims, double least) {
  EXPECT_GE(claims.rates_held, least * 2 * claims.runs);
  EXPECT_GE(claims.gains_held, least * claims.runs);
}

TEST(BusyMachine, ClaimsHoldBesideStrangers) {
  const Claims claims = claims_of(60, 0, 1);
  EXPECT_LT(claims.naive_gain_error, -0.1) << "else nothing is put right here";
  expect_held(claims, 0.9);
  EXPECT_NEAR(mean(claims.rate_errors), 0, 0.03);
  EXPECT_NEAR(mean(claims.gain_errors), 0, 0.03);
}

TEST(SlowBusyMachine, ClaimsHoldOnAQuietMachine) {
  const Claims claims = claims_of(500, 0, 0);
  report("quiet", claims);
  expect_held(claims, 0.93);
  EXPECT_NEAR(mean(claims.rate_errors), 0, 0.01);
  EXPECT_NEAR(mean(claims.gain_errors), 0, 0.01);
}

TEST(SlowBusyMachine, ClaimsHoldBesideStrangers) {
  const Claims claims = claims_of(500, 0, 1);
  report("busy", claims);
  expect_held(claims, 0.93);
  EXPECT_NEAR(mean(claims.rate_errors), 0, 0.012);
  EXPECT_NEAR(mean(claims.gain_errors), 0, 0.01);
}

TEST(SlowBusyMachine, ClaimsHoldWhereNothingIsEverQuiet) {
  const Claims claims = claims_of(500, 1, 1);
  report("never quiet", claims);
  expect_held(claims, 0.93);
  EXPECT_NEAR(mean(claims.rate_errors), 0, 0.05);
  EXPECT_NEAR(mean(claims.gain_errors), 0, 0.05);
}

}  // namespace
}  // namespace ocrtune
