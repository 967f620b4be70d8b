// The measuring rooms, short: that they measure what they say, never how fast the machine is.
#include <algorithm>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpu_set.h"
#include "probes/host/bandwidth.h"
#include "probes/host/effective_cores.h"
#include "probes/host/isa.h"
#include "probes/host/measured_facts.h"
#include "probes/host/pinned_team.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

TEST(PinnedTeam, EveryMemberRunsOnItsCpu) {
  const std::vector<int> cpus = current_affinity().cpus();
  const CpuSet before = current_affinity();
  std::vector<CpuSet> seen(cpus.size());
  ASSERT_TRUE(run_pinned(cpus, [&](std::size_t i) { seen[i] = current_affinity(); }));
  for (std::size_t i = 0; i < cpus.size(); ++i) EXPECT_EQ(seen[i], CpuSet({cpus[i]}));
  EXPECT_EQ(current_affinity(), before);
}

TEST(PinnedTeam, SpreadIsEven) {
  EXPECT_THAT(spread_over({0, 1, 2, 3, 4, 5, 6, 7}, 4), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(spread_over({3, 5}, 4), ElementsAre(3, 5));
  EXPECT_THAT(spread_over({}, 4), ElementsAre());
}

TEST(EffectiveCores, CountsFromOneToAll) {
  Notes notes;
  const std::vector<int> order = current_affinity().cpus();
  const EffectiveCores found = measure_effective_cores(order, 0.1, notes);
  ASSERT_TRUE(found.cores.known()) << found.cores.source;
  EXPECT_GT(*found.cores.value, 0);
  ASSERT_FALSE(found.scaling.empty());
  EXPECT_EQ(found.scaling.front().first, 1);
  EXPECT_EQ(found.scaling.back().first, static_cast<int>(order.size()));
  EXPECT_EQ(found.scaling.back().second, *found.cores.value);
}

// Whatever else runs there: three threads of others take three quarters of it from one alone, and
// three sevenths from four. By the wall that was more than two cores.
TEST(EffectiveCores, FourThreadsOnOneCpuAreOneCoreBesideOtherLoad) {
  const int cpu = current_affinity().cpus().front();
  std::atomic<bool> over = false;
  std::jthread load([&] {
    static_cast<void>(run_pinned({cpu, cpu, cpu}, [&](std::size_t) {
      while (!over) {
      }
    }));
  });
  Notes notes;
  const EffectiveCores found = measure_effective_cores({cpu, cpu, cpu, cpu}, 0.8, notes);
  over = true;
  ASSERT_TRUE(found.cores.known());
  EXPECT_GT(*found.cores.value, 0);
  EXPECT_LT(*found.cores.value, 1.5);  // threads begin and end a little apart
}

TEST(EffectiveCores, NoCpusIsUnknown) {
  Notes notes;
  EXPECT_FALSE(measure_effective_cores({}, 0.1, notes).cores.known());
}

TEST(EffectiveCores, SiblingsComeAfterAllCores) {
  CpuFacts cpu;
  cpu.places = {{0, 0, 0, 0, 0, 0, 0},
                {1, 0, 0, 0, 0, 1, 0},
                {2, 1, 0, 0, 0, 0, 1},
                {3, 1, 0, 0, 0, 1, 1},
                {4, 2, 0, 0, 0, 0, 0}};
  cpu.allowed = CpuSet::range(0, 3);
  EXPECT_THAT(cores_before_siblings(cpu), ElementsAre(2, 0, 3, 1));
}

TEST(Bandwidth, MeasuresOneAndAll) {
  BandwidthOptions plan;
  plan.cpus = current_affinity().cpus();
  plan.memory_bytes = 128ULL << 20;
#ifdef __SANITIZE_THREAD__
  plan.seconds = 20;  // each access is looked up
#else
  plan.seconds = 4;  // at most: pages may have to be found first
#endif
  const Bandwidth found = measure_bandwidth(plan);
  ASSERT_TRUE(found.bytes_per_second.known()) << found.bytes_per_second.source;
  EXPECT_GT(*found.bytes_per_second.value, 1e6);
  EXPECT_EQ(found.by_team.back().first, static_cast<int>(plan.cpus.size()));
  EXPECT_THAT(found.bytes_per_second.source, testing::HasSubstr("MiB"));
  double best = 0;
  for (const auto& [threads, rate] : found.by_team) best = std::max(best, rate);
  EXPECT_EQ(best, *found.bytes_per_second.value);
}

// This machine's CPUs as if they were of two nodes: the same memory, measured for each.
TEST(Bandwidth, IsMeasuredForEachNode) {
  CpuFacts cpu;
  BandwidthOptions plan;
  plan.cpus = current_affinity().cpus();
  if (plan.cpus.size() < 2) GTEST_SKIP() << "one CPU";
  for (const int one : plan.cpus) {
    cpu.places.push_back({one, one, 0, one == plan.cpus[0] ? 0 : 8, 0, 0, 0});
  }
  plan.memory_bytes = 512ULL << 20;
  plan.seconds = 8;
  const auto rates = measure_node_bandwidth(cpu, plan);
  ASSERT_TRUE(rates);
  EXPECT_THAT(rates->value, ::testing::MatchesRegex("node 0: [0-9.]+ GB/s; node 8: [0-9.]+ GB/s"));
  EXPECT_THAT(rates->value, ::testing::Not(::testing::HasSubstr(": 0.0 ")));
  for (CpuPlace& place : cpu.places) place.numa = 0;
  EXPECT_FALSE(measure_node_bandwidth(cpu, plan)) << "one node";
}

TEST(Bandwidth, TooLittleMemoryIsUnknown) {
  BandwidthOptions plan;
  plan.cpus = {0};
  plan.memory_bytes = 1ULL << 20;
  const Bandwidth found = measure_bandwidth(plan);
  EXPECT_FALSE(found.bytes_per_second.known());
  EXPECT_THAT(found.bytes_per_second.source, testing::HasSubstr("free memory"));
}

// A machine that is too slow with its pages gets no figure of caches.
TEST(Bandwidth, NoTimeIsUnknown) {
  BandwidthOptions plan;
  plan.cpus = current_affinity().cpus();
  plan.memory_bytes = 512ULL << 20;
  plan.seconds = 0;
  const Bandwidth found = measure_bandwidth(plan);
  EXPECT_FALSE(found.bytes_per_second.known());
  EXPECT_TRUE(found.by_team.empty());
  EXPECT_THAT(found.bytes_per_second.source, testing::HasSubstr("too slow"));
}

#if defined(__x86_64__)
// The kernel asked the same CPU: both must say the same of every name that both know.
TEST(Isa, AgreesWithTheKernelsFlags) {
  Notes notes;
  const FileRoot live;
  const IsaFacts asked = read_isa(live, notes);
  const std::string cpuinfo = live.read("/proc/cpuinfo").value_or("");
  const std::size_t at = cpuinfo.find("\nflags");
  ASSERT_NE(at, std::string::npos);
  const std::string flags = cpuinfo.substr(at, cpuinfo.find('\n', at + 1) - at) + " ";
  for (const char* name :
       {"sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512dq",
        "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"}) {
    const bool kernel = flags.find(std::string(" ") + name + " ") != std::string::npos;
    const bool ours = std::find(asked.names.begin(), asked.names.end(), name) != asked.names.end();
    EXPECT_EQ(ours, kernel) << name;
  }
}
#endif

}  // namespace
}  // namespace ocrtune
