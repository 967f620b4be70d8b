#include "tuner/models/sample_cost.h"

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

Knobs team(int nproc, int threads) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.threads = threads;
  return knobs;
}

// A trial of four windows in which a sample took `cpu_seconds`.
Trial cost(const Knobs& knobs, double cpu_seconds, bool disturbed) {
  Trial trial;
  trial.knobs = knobs;
  trial.outcome = Outcome::ok;
  trial.samples.assign(4, window_of(10));
  for (Sample& sample : trial.samples) {
    sample.interference.observed_seconds = 1;
    sample.interference.cpu_seconds = 10 * cpu_seconds;
    sample.interference.available_cpus = 2;
    if (disturbed) sample.interference.spoilt_by = "other processes used 1.00 CPUs";
  }
  return trial;
}

TEST(SampleCost, IsThatOfItsOwnUndisturbedTrialsWhereThereAreAny) {
  SampleCost costs;
  EXPECT_EQ(costs.least(team(1, 2)), 0);
  EXPECT_TRUE(costs.add(cost(team(1, 2), 0.05, true)));
  EXPECT_NEAR(costs.least(team(1, 2)), 0.05, 1e-9);
  EXPECT_TRUE(costs.add(cost(team(1, 1), 0.02, true)));
  EXPECT_FALSE(costs.add(cost(team(4, 1), 0.03, true)));
  EXPECT_NEAR(costs.least(team(1, 2)), 0.02, 1e-9) << "the same work by one thread";
  EXPECT_TRUE(costs.add(cost(team(1, 2), 0.04, false)));
  EXPECT_NEAR(costs.least(team(1, 2)), 0.04, 1e-9);
}

TEST(SampleCost, OfOtherWorkSaysNothing) {
  SampleCost costs;
  costs.add(cost(team(1, 1), 0.02, false));
  Knobs other = team(1, 2);
  other.precision = "bf16";
  EXPECT_EQ(costs.least(other), 0);
  other = team(1, 2);
  other.dims["model"] = "large";
  EXPECT_EQ(costs.least(other), 0);
  other = team(2, 1);
  other.batch = 64;
  EXPECT_NEAR(costs.least(other), 0.02, 1e-9);
}

}  // namespace
}  // namespace ocrtune
