// What is concluded of a program's rate on hosts that others use too
// (tests/support/shared_hosts.h). A scheduler shares the CPUs (tests/support/scheduled_machine.h);
// the truth is the same program alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/stats.h"
#include "tests/support/shared_hosts.h"
#include "trial/observe/undisturbed_rate.h"

namespace ocrtune {
namespace {

// Of the logarithm of a rate: no trial shows how trials differ, and a third of what is expected of
// them before any was repeated (tuner/verdict/rate_fit.h) is the least of it.
constexpr double kBetweenTrials = 0.01;

struct Claims {
  int runs = 0, held = 0, modelled = 0, disturbed = 0, corrected = 0;
  std::vector<double> told_errors;       // of what is put right or needs nothing
  std::vector<double> corrected_errors;  // of what is put right
  double highest = 0;                    // told rate over what the CPUs can do
};

class SharedHost {
 public:
  explicit SharedHost(std::uint64_t seed) : random_(seed) {}

  void run(int cpus, Neighbours kind, int number, Claims& claims) {
    const SharedHostCase one = shared_host(cpus, kind, number, random_);
    const double truth = truth_of(one, kind);
    const auto samples = busy_samples(one.program, one.load, 1, one.host, random_.next());
    const RateEstimate found = undisturbed_rate(samples);
    const auto windows = std::count_if(samples.begin(), samples.end(), [&](const Sample& sample) {
      return found.modelled || sample.clean();
    });
    const double dof = std::max(2.0, static_cast<double>(windows) - 2);
    const double one_trial = std::hypot(found.error, found.model_error, found.sharing_error);
    const double half = std::hypot(t_quantile_95(dof) * one_trial, 2 * kBetweenTrials);
    const double off = std::log(found.model_samples_per_second / truth);
    ++claims.runs;
    claims.modelled += found.modelled ? 1 : 0;
    claims.held += std::fabs(off) <= half ? 1 : 0;
    const double cpu_seconds = one.program.step_seconds / kBusyBatch;
    const double possible = one.own_cpus / cpu_seconds;
    claims.highest = std::max({claims.highest, found.samples_per_second / possible,
                               found.model_samples_per_second / possible});
    if (std::getenv("OCRTUNE_SHOW") != nullptr) {
      std::printf(
          "%d cpus kind %d ranks %d smt %d strangers %d share %.2f: raw %+.3f told %+.3f "
          "model %+.3f +- %.3f %s%s clean %s\n",
          cpus, static_cast<int>(kind), one.program.ranks, one.host.topology.smt ? 1 : 0,
          one.load.threads, one.load.share, std::log(found.raw_samples_per_second / truth),
          std::log(found.samples_per_second / truth), off, half, found.modelled ? "modelled " : "",
          found.disturbed ? "disturbed" : "", samples[0].interference.spoilt_by.c_str());
    }
    if (found.disturbed) {
      ++claims.disturbed;
      EXPECT_EQ(found.samples_per_second, found.raw_samples_per_second);
      return;
    }
    claims.told_errors.push_back(std::log(found.samples_per_second / truth));
    if (found.modelled) claims.corrected_errors.push_back(claims.told_errors.back());
  }

 private:
  double truth_of(const SharedHostCase& one, Neighbours kind) {
    const auto key = std::tuple(one.host.topology.cpus, one.host.topology.smt,
                                static_cast<int>(kind), one.program.ranks);
    const auto [found, fresh] = known_.try_emplace(key, 0);
    if (fresh) found->second = true_rate(one.program, one.host);
    return found->second;
  }

  Random random_;
  std::map<std::tuple<int, bool, int, int>, double> known_;
};

Claims claims_of(int runs, std::uint64_t seed) {
  SharedHost host(seed);
  Claims claims;
  for (int run = 0; run < runs; ++run) {
    for (const int cpus : {2, 16, 64, 256}) {
      host.run(cpus, kNeighbours.at(static_cast<std::size_t>(run) % kNeighbours.size()),
               run / static_cast<int>(kNeighbours.size()), claims);
    }
  }
  std::printf(
      "%d runs: held %.3f, told bias %+.4f, put right %zu bias %+.4f, disturbed %d, highest "
      "of what is possible %.3f\n",
      claims.runs, static_cast<double>(claims.held) / claims.runs, mean(claims.told_errors),
      claims.corrected_errors.size(), mean(claims.corrected_errors), claims.disturbed,
      claims.highest);
  return claims;
}

TEST(SharedHost, RatesHoldAndNeverPassWhatTheCpusCanDo) {
  const Claims claims = claims_of(15, 3);
  EXPECT_GE(claims.held, 0.9 * claims.runs);
  EXPECT_NEAR(mean(claims.told_errors), 0, 0.03);
  EXPECT_LE(claims.highest, 1.03);
}

TEST(SlowSharedHost, RatesHoldAndNeverPassWhatTheCpusCanDo) {
  const Claims claims = claims_of(500, 20270);
  EXPECT_GE(claims.held, 0.93 * claims.runs);
  EXPECT_NEAR(mean(claims.corrected_errors), 0, 0.02);
  EXPECT_LE(claims.highest, 1.03);
}

}  // namespace
}  // namespace ocrtune
