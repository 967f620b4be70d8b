#include "trial/observe/undisturbed_rate.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/stats.h"
#include "tests/support/busy_trial.h"
#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

// How the estimates of many single trials lie around the truth; figures are logarithms.
struct Found {
  double bias = 0;
  double naive = 0;  // bias of the middle of all windows as they are
  double held = 0;   // share of the 95 % intervals that hold the truth
};

double unknown(const RateEstimate& found) {  // all that a single trial leaves open
  return std::hypot(found.error, found.model_error, found.sharing_error);
}

template <class Program>
Found estimates_of(const Program& program, const StrangerLoad& load, int runs) {
  const double truth = true_rate(program);
  std::vector<double> errors, naive;
  int held = 0;
  for (int run = 0; run < runs; ++run) {
    const double sharing = 0.02 * (run % 11);  // of caches: differs from machine to machine
    const std::uint64_t seed = 1000U + static_cast<std::uint64_t>(run);
    const std::vector<Sample> samples = busy_samples(program, load, 1.5, sharing, seed);
    const RateEstimate found = undisturbed_rate(samples);
    errors.push_back(std::log(found.model_samples_per_second / truth));
    const double dof = std::max(2.0, static_cast<double>(samples.size()) - 2);
    const double half = t_quantile_95(dof) * unknown(found);
    held += std::fabs(errors.back()) <= half ? 1 : 0;
    std::vector<double> all;
    for (const Sample& sample : samples) all.push_back(sample.samples_per_second());
    naive.push_back(std::log(median(all) / truth));
  }
  return {mean(errors), mean(naive), static_cast<double>(held) / runs};
}

ScheduledProgram program_of(int ranks, double loader_seconds, double idle_seconds) {
  ScheduledProgram program;
  program.ranks = ranks;
  program.loader_seconds = loader_seconds;
  program.idle_seconds = idle_seconds;
  program.trial_noise = 0;
  return program;
}

TEST(UndisturbedRate, IsNearTheTruthWhateverTheStrangersTake) {
  const ScheduledProgram programs[] = {program_of(1, 0, 0),     program_of(2, 0, 0),
                                       program_of(1, 0.012, 0), program_of(2, 0.012, 0),
                                       program_of(4, 0, 0),     program_of(1, 0, 0.01)};
  const StrangerLoad loads[] = {{0, 0}, {1, 0.5}, {2, 0.5}, {1, 1}, {2, 1}};
  std::vector<double> biases;
  double held = 0;
  for (const ScheduledProgram& program : programs) {
    for (const StrangerLoad& load : loads) {
      const Found found = estimates_of(program, load, 22);
      const std::string what = std::to_string(program.ranks) + " ranks, " +
                               std::to_string(load.threads) + " strangers for " +
                               std::to_string(load.share);
      // What is changed by more than 30 % is told as it was measured.
      EXPECT_NEAR(found.bias, 0, found.naive < -std::log(1.3) ? 0.11 : 0.06) << what;
      if (found.naive < -0.1) {
        EXPECT_LT(std::fabs(found.bias), 0.35 * -found.naive) << what;
      }
      biases.push_back(found.bias);
      held += found.held;
    }
  }
  EXPECT_NEAR(mean(biases), 0, 0.02);
  EXPECT_GT(held / static_cast<double>(biases.size()), 0.93);
}

// Nobody sees the counters of processes that are gone.
TEST(UndisturbedRate, IsNearTheTruthOfProcessesThatComeAndGo) {
  for (const int ranks : {1, 2}) {
    for (const int strangers : {2, 4, 8}) {
      const std::string what =
          std::to_string(ranks) + " ranks, strangers " + std::to_string(strangers);
      ForkingProgram program;
      program.ranks = ranks;
      const Found found = estimates_of(program, {strangers, 1}, 22);
      std::printf("%s: bias %+.3f of %+.3f, held %.3f\n", what.c_str(), found.bias, found.naive,
                  found.held);
      EXPECT_NEAR(found.bias, 0, 0.15) << what;
      EXPECT_GT(found.held, 0.8) << what;
    }
  }
}

// What two threads showed that meet every tenth of a millisecond, beside three busy programs: each
// waits most of the time, and spins most of the rest. Undisturbed they make 209 samples a second.
TEST(UndisturbedRate, WhatThreadsSpinIsNoWork) {
  std::vector<Sample> samples;
  for (const double seconds : {1.49, 1.40, 1.58}) {
    Sample sample = window_of(16 / seconds, seconds, "other processes used 1.62 CPUs");
    Interference& seen = sample.interference;
    seen.observed_seconds = seconds;
    seen.cpu_seconds = 0.34 * seconds;
    seen.available_cpus = 2;
    seen.external_cpus = 1.62;
    seen.external_wait_seconds = 1.46 * seconds;
    seen.longest_external_wait_seconds = 0.74 * seconds;
    samples.push_back(sample);
  }
  const RateEstimate believed = undisturbed_rate(samples);
  EXPECT_LT(std::log(209 / believed.model_samples_per_second), 1.7);
  const RateEstimate found = undisturbed_rate(samples, 0.0093);
  EXPECT_GT(found.model_samples_per_second, 1.5 * believed.model_samples_per_second);
  EXPECT_LT(found.model_samples_per_second, 2 / 0.0093 + 1) << "two CPUs can do no more";
  EXPECT_LT(std::log(209 / found.model_samples_per_second), 1.96 * unknown(found));
  EXPECT_TRUE(found.disturbed);
  EXPECT_NEAR(found.samples_per_second, found.raw_samples_per_second, 1e-9);
}

Sample window(double rate, const char* spoilt_by) { return window_of(rate, 0.2, spoilt_by); }

TEST(UndisturbedRate, CleanWindowsAreTheEvidenceWhereThereAreEnough) {
  std::vector<Sample> samples(5, window(100, ""));
  samples.resize(12, window(40, "other load"));
  const RateEstimate found = undisturbed_rate(samples);
  EXPECT_DOUBLE_EQ(found.samples_per_second, 100);
  EXPECT_FALSE(found.modelled);
}

// Eight strangers on 256 CPUs, and 32 threads that never waited.
TEST(UndisturbedRate, NeighboursOnALargeMachineCostLittle) {
  for (const double strangers : {3.0, 8.0, 20.0, 100.0}) {
    std::vector<Sample> samples(15, window(1000, "other processes used 8.00 CPUs"));
    for (Sample& sample : samples) {
      sample.interference.observed_seconds = 0.2;
      sample.interference.cpu_seconds = 32 * 0.2;
      sample.interference.available_cpus = 256;
      sample.interference.external_cpus = strangers;
    }
    const RateEstimate found = undisturbed_rate(samples);
    EXPECT_GE(found.samples_per_second, 1000) << strangers;
    EXPECT_LT(found.samples_per_second, strangers > 30 ? 1300 : 1030) << strangers;
  }
}

TEST(UndisturbedRate, NoMoreThanTheCpusCanDo) {
  std::vector<Sample> samples(15, window(380, "threads waited"));
  for (Sample& sample : samples) {
    Interference& seen = sample.interference;
    seen.observed_seconds = 0.2;
    seen.cpu_seconds = 0.18;
    seen.available_cpus = 1;
    seen.external_cpus = 0.1;
    seen.external_wait_seconds = seen.longest_external_wait_seconds = 0.1;
  }
  const RateEstimate found = undisturbed_rate(samples);
  EXPECT_LT(found.model_samples_per_second, 1 / (0.9 / 380) + 1);
  EXPECT_NEAR(found.raw_samples_per_second, 380, 1e-9);
}

TEST(UndisturbedRate, WhatTheModelWouldChangeByMuchIsToldAsItWasMeasured) {
  std::vector<Sample> samples(15, window(100, "other processes used 1.00 CPUs"));
  for (Sample& sample : samples) {
    Interference& seen = sample.interference;
    seen.observed_seconds = 0.2;
    seen.cpu_seconds = 0.1;
    seen.available_cpus = 2;
    seen.external_cpus = 1.5;
    seen.external_wait_seconds = seen.longest_external_wait_seconds = 0.1;
  }
  const RateEstimate found = undisturbed_rate(samples);
  EXPECT_TRUE(found.disturbed);
  EXPECT_DOUBLE_EQ(found.samples_per_second, 100);
  EXPECT_GT(found.model_samples_per_second, 150);
  EXPECT_EQ(rate_words(found).size(), 1U);
}

// Of loader workers that start anew at each epoch: 120/s for 2.5 s, then a second of nothing.
TEST(UndisturbedRate, SlowWindowsThatRecurArePartOfIt) {
  std::vector<Sample> samples;
  for (int period = 0; period < 3; ++period) {
    for (int i = 0; i < 5; ++i) samples.push_back(window_of(120, 0.4));
    samples.push_back(window_of(120.0 * 0.5 / 1.5, 1.5));
  }
  samples.push_back(samples[0]);
  const RateEstimate found = undisturbed_rate(samples);
  EXPECT_TRUE(found.slow.recur());
  EXPECT_NEAR(found.slow.period_seconds, 3.5, 1e-9);
  EXPECT_NEAR(found.samples_per_second, 120 * 2.5 / 3.5, 0.01) << "of whole periods";
  for (Sample& sample : samples) {
    sample.interference.spoilt_by = "other processes used 0.20 CPUs";
    sample.interference.observed_seconds = sample.seconds;
    sample.interference.cpu_seconds = 0.5 * sample.seconds;
    sample.interference.available_cpus = 2;
    sample.interference.external_cpus = 0.2;
  }
  EXPECT_NEAR(undisturbed_rate(samples).samples_per_second, 120 * 2.5 / 3.5, 4);
}

TEST(UndisturbedRate, OneCleanWindowOfManyIsNotTheRate) {
  std::vector<Sample> samples(1, window(12, ""));
  for (int i = 0; i < 12; ++i) {
    Sample sample = window(30, "other processes used 1.00 CPUs");
    sample.interference.observed_seconds = 0.2;
    sample.interference.cpu_seconds = 0.2;
    sample.interference.external_cpus = 1;
    sample.interference.available_cpus = 2;
    samples.push_back(sample);
  }
  const RateEstimate found = undisturbed_rate(samples);
  EXPECT_TRUE(found.modelled);
  EXPECT_GT(found.samples_per_second, 28);
  EXPECT_GT(unknown(found), 0.02);
}

TEST(UndisturbedRate, WhatNobodyObservedIsTakenAsItIsAndDoubted) {
  const RateEstimate found = undisturbed_rate(std::vector<Sample>(8, window(50, "swapped")));
  EXPECT_DOUBLE_EQ(found.samples_per_second, 50);
  EXPECT_TRUE(found.modelled);
  EXPECT_GT(found.model_error, 0.3);
  EXPECT_DOUBLE_EQ(undisturbed_rate(std::vector<Sample>()).samples_per_second, 0);
}

}  // namespace
}  // namespace ocrtune
