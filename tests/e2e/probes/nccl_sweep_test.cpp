// What is swept after which verdict, and which winner is believed: scripted step times.
#include "probes/p2p/nccl_sweep.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<LadderGpu> kGpus = {{0, "GPU-a"}, {1, "GPU-b"}};

P2pFacts facts_of(int gpus, bool nvlink) {
  P2pFacts facts;
  facts.gpus = gpus;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      P2pPairFacts pair;
      pair.from = from;
      pair.to = to;
      pair.nvlink = nvlink;
      pair.level = nvlink ? "NVL" : "PHB";
      facts.pairs.push_back(pair);
    }
  }
  return facts;
}

P2pVerdict verdict_of(P2pClass verdict, std::vector<std::pair<std::string, std::string>> env = {}) {
  P2pVerdict out;
  out.verdict = verdict;
  out.env = std::move(env);
  return out;
}

std::set<std::string> names_of(const std::vector<SweepSetting>& settings) {
  std::set<std::string> names;
  for (const SweepSetting& setting : settings) names.insert(setting.name);
  return names;
}

// Step seconds by setting name with 0.5 % noise; what is not named takes as long as the base. A
// value of 0 fails.
struct Script {
  std::map<std::string, double> seconds;  // key: the last variable, "NCCL_ALGO=Tree"; "": the base
  bool proves = true;
  int runs = 0;
  Random random{3};

  LadderWorld world() {
    LadderWorld world;
    world.run = [this](const GpuStep& step) { return run(step); };
    return world;
  }
  GpuStepResult run(const GpuStep& step) {
    ++runs;
    GpuStepResult out;
    std::string key;
    if (!step.environment.empty()) {
      key = step.environment.back().first + "=" + step.environment.back().second;
    }
    const double truth = seconds.count(key) != 0 ? seconds.at(key) : seconds.at("");
    if (truth <= 0) {
      out.result = StepResult::hung;
      out.detail = "no answer";
      return out;
    }
    out.result = StepResult::passed;
    for (int rank = 0; rank < 2; ++rank) {
      GpuFinding finding;
      finding.what = "sweep";
      finding.rank = rank;
      finding.figures = {{"step_seconds", truth * (1 + 0.005 * random.normal())}, {"work", 40}};
      out.findings.push_back(finding);
    }
    out.log = parse_nccl_log("n:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct\n");
    if (proves) out.log.environment = step.environment;
    return out;
  }
};

SweepOptions options_of() {
  SweepOptions options;
  options.bucket_bytes = gradient_buckets(84 << 20);
  return options;
}

TEST(NcclSweep, WhatAVerdictAllows) {
  const auto broken =
      sweep_settings(facts_of(2, false), verdict_of(P2pClass::broken, {{"NCCL_P2P_DISABLE", "1"}}));
  EXPECT_EQ(broken[0].name, "as recommended");
  for (const SweepSetting& setting : broken) {
    EXPECT_THAT(setting.env, Contains(std::pair<std::string, std::string>("NCCL_P2P_DISABLE", "1")))
        << setting.name << " would run over a broken link";
  }
  const auto fine = names_of(sweep_settings(facts_of(4, false), verdict_of(P2pClass::ok)));
  for (const char* name : {"as it is", "P2P off", "P2P up to PHB", "Tree", "4 CTAs"}) {
    EXPECT_THAT(fine, Contains(name));
  }
  const auto unsupported =
      names_of(sweep_settings(facts_of(2, false), verdict_of(P2pClass::unsupported)));
  EXPECT_THAT(unsupported, Not(Contains("P2P off"))) << "it changes nothing there";
  for (const auto& settings :
       {sweep_settings(facts_of(8, true), verdict_of(P2pClass::ok)), broken}) {
    for (const SweepSetting& setting : settings) {
      for (const auto& [name, value] : setting.env) {
        EXPECT_NE(name, "NCCL_PROTO") << "LL128 must never be forced";
        EXPECT_TRUE(name != "NCCL_NVLS_ENABLE" || setting.workaround);
        EXPECT_NE(name, "NCCL_CUMEM_HOST_ENABLE");
      }
    }
  }
}

TEST(NcclSweep, FindsAWinnerAndClaimsWhatNewRoundsShow) {
  Script script;
  script.seconds = {
      {"", 0.1}, {"NCCL_MAX_CTAS=4", 0.09}, {"NCCL_MAX_CTAS=16", 0.12}, {"NCCL_ALGO=Ring", 0}};
  const auto settings = sweep_settings(facts_of(2, false), verdict_of(P2pClass::ok));
  const SweepAnswer answer = run_nccl_sweep(kGpus, settings, options_of(), script.world());
  ASSERT_NE(answer.best, 0);
  EXPECT_EQ(answer.rows[static_cast<std::size_t>(answer.best)].setting.name, "4 CTAs");
  EXPECT_NEAR(answer.gain.median, 1.11, 0.02);
  EXPECT_THAT(answer.warnings, Contains(HasSubstr("debugging variables")));
  const auto ring = std::find_if(answer.rows.begin(), answer.rows.end(),
                                 [](const SweepRow& row) { return row.setting.name == "Ring"; });
  EXPECT_EQ(ring->result, StepResult::hung);
  EXPECT_EQ(script.runs, static_cast<int>((settings.size() - 1) * 5 + 1 + 10))
      << "a failed setting is not run again";
}

TEST(NcclSweep, NoiseIsNoWinnerAndNothingUnprovedIs) {
  Script noise;
  noise.seconds = {{"", 0.1}};
  const auto settings = sweep_settings(facts_of(2, false), verdict_of(P2pClass::ok));
  EXPECT_EQ(run_nccl_sweep(kGpus, settings, options_of(), noise.world()).best, 0);
  Script unproved;
  unproved.seconds = {{"", 0.1}, {"NCCL_MAX_CTAS=4", 0.05}};
  unproved.proves = false;
  EXPECT_EQ(run_nccl_sweep(kGpus, settings, options_of(), unproved.world()).best, 0);
}

TEST(NcclSweep, WithoutABaseOnlyWorkaroundsAreTried) {
  Script script;
  script.seconds = {{"", 0}, {"NCCL_NVLS_ENABLE=0", 0.1}};
  const auto settings = sweep_settings(facts_of(8, true), verdict_of(P2pClass::ok));
  const SweepAnswer answer = run_nccl_sweep(kGpus, settings, options_of(), script.world());
  EXPECT_EQ(answer.best, 0);
  EXPECT_THAT(answer.sentence, HasSubstr("it runs without NVLS"));
  EXPECT_EQ(script.runs, 1 + 5);
}

TEST(NcclSweep, CutsGradientsIntoBuckets) {
  EXPECT_EQ(gradient_buckets(60 << 20), (std::vector<std::uint64_t>{25 << 20, 25 << 20, 10 << 20}));
  EXPECT_TRUE(gradient_buckets(0).empty());
}

}  // namespace
}  // namespace ocrtune
