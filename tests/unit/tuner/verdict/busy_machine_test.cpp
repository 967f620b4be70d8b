// Whole runs on a machine that others use too: what is claimed of two settings, against what they
// do when nobody disturbs. The strangers and the scheduler are mechanisms (tests/support), not the
// estimator's formulas.
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/stats.h"
#include "tests/support/shared_hosts.h"
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
  for (const Sample& sample : samples) rates.push_back(sample.samples_per_second());
  return median(rates);
}

// A program with one rank and the same with two, whose step is a little dearer.
struct Pair {
  ScheduledProgram one, two;
  double true_one = 0, true_two = 0;
};

Pair pair_of(double loader_seconds, double idle_seconds) {
  Pair pair;
  pair.one.loader_seconds = pair.two.loader_seconds = loader_seconds;
  pair.one.idle_seconds = pair.two.idle_seconds = idle_seconds;
  pair.two.ranks = 2;
  pair.two.step_seconds = 0.033;
  const auto still = [](ScheduledProgram program) {
    program.trial_noise = 0;
    return true_rate(program);
  };
  pair.true_one = still(pair.one);
  pair.true_two = still(pair.two);
  return pair;
}

// Programs that only compute, with a loader each, with a loader and pauses, with pauses.
std::vector<Pair> programs() {
  return {pair_of(0, 0), pair_of(0.012, 0), pair_of(0.02, 0.005), pair_of(0, 0.012)};
}

struct Load {
  double min_share = 0, max_share = 0;
};

// The baseline of one rank, then races of it and of two ranks.
Claims claims_of(int runs, const Load& shares, std::uint64_t seed) {
  const std::vector<Pair> pairs = programs();
  Claims claims;
  Random random(seed);
  for (int run = 0; run < runs; ++run) {
    const Pair& pair = pairs[static_cast<std::size_t>(run / 2) % pairs.size()];
    StrangerLoad load{1 + run % 2, random.uniform(shares.min_share, shares.max_share)};
    load.period_seconds = std::exp(random.uniform(std::log(0.3), std::log(6.0)));
    const double sharing = random.uniform(0, 0.2);
    const auto samples = [&](const ScheduledProgram& program) {
      return busy_samples(program, load, 1, sharing, random.next());
    };
    std::vector<Trial> trials = {trial_of(1, "baseline", 0, samples(pair.one))};
    std::vector<double> naive;
    for (int round = 1; round <= kRounds; ++round) {
      trials.push_back(trial_of(1, "race", round, samples(pair.one)));
      trials.push_back(trial_of(2, "race", round, samples(pair.two)));
      const std::size_t last = trials.size() - 1;
      naive.push_back(
          std::log(middle_of(trials[last].samples) / middle_of(trials[last - 1].samples)));
    }
    const std::vector<Setting> settings = settings_of(trials, repeat_noise(trials, 0.03));
    const Setting& a = *find_setting(settings, processes(1));
    const Setting& b = *find_setting(settings, processes(2));
    const Interval gain = ratio_interval(b, a);
    const double truth = pair.true_two / pair.true_one;
    const auto holds = [](const Interval& interval, double value) {
      return interval.low <= value && value <= interval.high ? 1 : 0;
    };
    ++claims.runs;
    claims.rates_held += holds(a.estimate, pair.true_one) + holds(b.estimate, pair.true_two);
    claims.gains_held += holds(gain, truth);
    claims.rate_errors.push_back(std::log(a.estimate.median / pair.true_one));
    claims.rate_errors.push_back(std::log(b.estimate.median / pair.true_two));
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

double half_width(const Interval& interval) { return std::log(interval.high / interval.median); }

void expect_held(const Claims& claims, double least) {
  EXPECT_GE(claims.rates_held, least * 2 * claims.runs);
  EXPECT_GE(claims.gains_held, least * claims.runs);
}

TEST(BusyMachine, ClaimsHoldBesideStrangers) {
  const Claims claims = claims_of(64, {0, 1}, 5);
  EXPECT_LT(claims.naive_gain_error, -0.05) << "else nothing is put right here";
  expect_held(claims, 0.9);
  EXPECT_NEAR(mean(claims.rate_errors), 0, 0.04);
  EXPECT_NEAR(mean(claims.gain_errors), 0, 0.04);
}

// What nobody knows of how the waits of two ranks add up is the same for either batch.
TEST(BusyMachine, SettingsOfATeamAreComparedMoreCloselyThanTheirRatesAreKnown) {
  ScheduledProgram program;
  program.ranks = 2;
  std::vector<Trial> trials;
  Random random(8);
  for (int round = 1; round <= kRounds; ++round) {
    for (const int batch : {8, 16}) {
      trials.push_back(
          trial_of(2, "race", round, busy_samples(program, {2, 1.0}, 1, 0.1, random.next())));
      trials.back().knobs.batch = batch;
    }
  }
  const std::vector<Setting> settings = settings_of(trials, repeat_noise(trials, 0.03));
  ASSERT_EQ(settings.size(), 2U);
  ASSERT_TRUE(settings[0].summary.modelled);
  const Interval ratio = ratio_interval(settings[0], settings[1]);
  EXPECT_LT(half_width(ratio), 0.8 * half_width(settings[0].estimate));
  EXPECT_LE(ratio.low, 1);
  EXPECT_GE(ratio.high, 1);
}

// One rank of one thread and of two. The plain start, of two threads, was measured first: once on
// the quiet machine or never; all later trials beside strangers.
Claims spinning_claims_of(int runs, bool quiet_first, std::uint64_t seed) {
  ForkJoinProgram one, two;
  one.threads = 1;
  const double true_one = true_rate(one), true_two = true_rate(two);
  Claims claims;
  Random random(seed);
  for (int run = 0; run < runs; ++run) {
    StrangerLoad load{1 + run % 3, random.uniform(0.5, 1)};
    load.period_seconds = std::exp(random.uniform(std::log(0.3), std::log(6.0)));
    const double sharing = random.uniform(0, 0.2);
    std::vector<Trial> trials;
    const auto add = [&](const ForkJoinProgram& program, const char* phase, int round,
                         const StrangerLoad& beside) {
      trials.push_back(
          trial_of(1, phase, round, busy_samples(program, beside, 1, sharing, random.next())));
      trials.back().knobs.threads = program.threads;
    };
    add(two, "baseline", 0, quiet_first ? StrangerLoad() : load);
    for (int round = 1; round <= kRounds; ++round) {
      add(two, "race", round, load);
      add(one, "race", round, load);
    }
    const std::vector<Setting> settings = settings_of(trials, repeat_noise(trials, 0.03));
    const Setting& a = *find_setting(settings, trials[1].knobs);
    const Setting& b = *find_setting(settings, trials[2].knobs);
    const Interval gain = ratio_interval(b, a);
    const double truth = true_one / true_two;
    const auto holds = [](const Interval& interval, double value) {
      return interval.low <= value && value <= interval.high ? 1 : 0;
    };
    ++claims.runs;
    claims.rates_held += holds(a.estimate, true_two) + holds(b.estimate, true_one);
    claims.gains_held += holds(gain, truth);
    claims.rate_errors.push_back(std::log(a.estimate.median / true_two));
    claims.gain_errors.push_back(std::log(gain.median / truth));
  }
  return claims;
}

TEST(BusyMachine, SpinningForThreadsThatWaitIsNoWork) {
  for (const bool quiet_first : {true, false}) {
    const Claims claims = spinning_claims_of(30, quiet_first, 11);
    report(quiet_first ? "spinning, once quiet" : "spinning, never quiet", claims);
    expect_held(claims, 0.9);
    EXPECT_NEAR(mean(claims.rate_errors), 0, 0.06);
    EXPECT_NEAR(mean(claims.gain_errors), 0, 0.06);
  }
}

// On hosts of 2 to 256 CPUs: a program as it starts, and the same with half of its ranks (where it
// has several) or a cheaper step.
Claims shared_claims_of(int cpus, int runs, std::uint64_t seed) {
  Claims claims;
  Random random(seed);
  std::map<std::tuple<int, int, bool, bool>, double> known;  // rates, of what decides them
  for (int run = 0; run < runs; ++run) {
    const std::size_t kind = static_cast<std::size_t>(run) % kNeighbours.size();
    const SharedHostCase host =
        shared_host(cpus, kNeighbours.at(kind), run / static_cast<int>(kNeighbours.size()), random);
    const ScheduledProgram& one = host.program;
    ScheduledProgram other = one;
    if (one.ranks > 1) other.ranks /= 2;
    other.step_seconds *= one.ranks > 1 ? 0.95 : 0.8;
    const auto truth_of = [&](const ScheduledProgram& program, bool changed) {
      const auto [found, fresh] = known.try_emplace(
          {static_cast<int>(kind), program.ranks, host.host.topology.smt, changed}, 0);
      if (fresh) found->second = true_rate(program, host.host);
      return found->second;
    };
    const double truth = truth_of(other, true) / truth_of(one, false);
    const auto add = [&](std::vector<Trial>& trials, const ScheduledProgram& program,
                         const char* phase, int round) {
      trials.push_back(trial_of(program.ranks, phase, round,
                                busy_samples(program, host.load, 1, host.host, random.next())));
      trials.back().knobs.batch = &program == &one ? 8 : 16;
    };
    std::vector<Trial> trials;
    add(trials, one, "baseline", 0);
    for (int round = 1; round <= kRounds; ++round) {
      add(trials, one, "race", round);
      add(trials, other, "race", round);
    }
    const std::vector<Setting> settings = settings_of(trials, repeat_noise(trials, 0.03));
    const Interval gain = ratio_interval(*find_setting(settings, trials[2].knobs),
                                         *find_setting(settings, trials[1].knobs));
    ++claims.runs;
    claims.gains_held += gain.low <= truth && truth <= gain.high ? 1 : 0;
    claims.gain_errors.push_back(std::log(gain.median / truth));
  }
  return claims;
}

TEST(SlowBusyMachine, GainsHoldOnHostsOfAllSizes) {
  for (const int cpus : {2, 16, 64, 256}) {
    const Claims claims = shared_claims_of(cpus, 500, 20280);
    std::printf("%d CPUs: gains held %.3f bias %+.4f\n", cpus,
                claims.gains_held / static_cast<double>(claims.runs), mean(claims.gain_errors));
    // 93 %, less two standard errors of 500 runs; on 256 CPUs gains are 3.3 % too low.
    EXPECT_GE(claims.gains_held, 0.907 * claims.runs);
    EXPECT_NEAR(mean(claims.gain_errors), 0, 0.04);
  }
}

TEST(SlowBusyMachine, ClaimsHoldOfThreadsThatSpin) {
  for (const bool quiet_first : {true, false}) {
    const Claims claims = spinning_claims_of(500, quiet_first, 20264);
    report(quiet_first ? "spinning, once quiet" : "spinning, never quiet", claims);
    expect_held(claims, 0.93);
    EXPECT_NEAR(mean(claims.rate_errors), 0, 0.03);
    EXPECT_NEAR(mean(claims.gain_errors), 0, 0.03);
  }
}

TEST(SlowBusyMachine, ClaimsHoldOnAQuietMachine) {
  const Claims claims = claims_of(500, {0, 0}, 20261);
  report("quiet", claims);
  expect_held(claims, 0.93);
  EXPECT_NEAR(mean(claims.rate_errors), 0, 0.01);
  EXPECT_NEAR(mean(claims.gain_errors), 0, 0.01);
}

TEST(SlowBusyMachine, ClaimsHoldBesideStrangers) {
  const Claims claims = claims_of(500, {0, 1}, 20262);
  report("busy", claims);
  expect_held(claims, 0.93);
  EXPECT_NEAR(mean(claims.rate_errors), 0, 0.02);
  EXPECT_NEAR(mean(claims.gain_errors), 0, 0.02);
}

TEST(SlowBusyMachine, ClaimsMostlyHoldWhereNothingIsEverQuiet) {
  const Claims claims = claims_of(500, {1, 1}, 20263);
  report("never quiet", claims);
  expect_held(claims, 0.93);
  EXPECT_NEAR(mean(claims.rate_errors), 0, 0.05);
  EXPECT_NEAR(mean(claims.gain_errors), 0, 0.05);
}

}  // namespace
}  // namespace ocrtune
