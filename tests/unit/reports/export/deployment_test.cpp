#include "reports/export/deployment.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "probes/placement/partition.h"
#include "reports/export/env_file.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

// Threads that strangers keep from a CPU ask for it all the same.
TEST(Deployment, AsksForTheCpusThatOtherLoadTook) {
  RunRecord run = sample_run();
  Knobs& knobs = run.result.recommendation.knobs;
  const auto best = std::find_if(run.result.settings.begin(), run.result.settings.end(),
                                 [&](const SettingSummary& one) { return one.knobs == knobs; });
  ASSERT_NE(best, run.result.settings.end());
  knobs.nproc = knobs.threads = best->knobs.nproc = best->knobs.threads = 1;
  ASSERT_GE(usable_cpu_count(run.machine.cpu), 4);
  best->cpu_seconds_per_sample = 0.4 / best->samples_per_second.median;
  best->threads.cpus = 0.4;
  best->threads.runnable = 2.3;
  const auto cpus = [&](int disturbed) {
    best->discarded_samples = disturbed;
    const auto deployment = deployment_of(run);
    EXPECT_TRUE(deployment) << deployment.error().what;
    return deployment ? deployment->cpus : 0;
  };
  EXPECT_EQ(cpus(0), 1);
  EXPECT_EQ(cpus(4), 3);
  for (Trial& trial : run.trials) {
    if (trial.knobs == knobs) trial.stages.allowed_cpus = 2;
  }
  EXPECT_EQ(cpus(4), 2) << "no more than its mask has";
}

TEST(Deployment, AnInconclusiveRunIsHandedOnAsSuch) {
  RunRecord run = sample_run();
  const auto files = [&] {
    const auto deployment = deployment_of(run);
    EXPECT_TRUE(deployment) << deployment.error().what;
    return find_export_format("markdown")->write(*deployment) +
           find_export_format("compose")->write(*deployment) + env_file_text(run.result);
  };
  EXPECT_NE(files().find("| recommended |"), std::string::npos);
  EXPECT_EQ(files().find(kOpenNote), std::string::npos);
  run.result.verdict.answer = Answer::inconclusive;
  EXPECT_NE(files().find("| leading |"), std::string::npos);
  EXPECT_EQ(files().find("| recommended |"), std::string::npos);
  EXPECT_NE(files().find(std::string("\n") + kOpenNote), std::string::npos);
  EXPECT_NE(files().find(std::string("\n# ") + kOpenNote), std::string::npos);
  EXPECT_NE(env_file_text(run.result).find(kOpenNote), std::string::npos);
}

}  // namespace
}  // namespace ocrtune
