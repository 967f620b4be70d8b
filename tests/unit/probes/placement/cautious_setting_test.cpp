#include "probes/placement/cautious_setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::uint64_t kGiB = 1ULL << 30;

Machine machine_of(int cores, int groups, std::uint64_t memory_bytes) {
  Machine machine;
  for (int core = 0; core < cores; ++core) {
    machine.cpu.places.push_back({core, core, core * groups / cores, 0, 0, 0, 0});
  }
  machine.cpu.allowed = CpuSet::range(0, cores - 1);
  machine.cpu.l3_groups = groups;
  machine.cpu.physical_cores = cores;
  machine.cpu.usable_cpus = {cores, "affinity"};
  machine.memory.total_bytes = machine.memory.available_bytes = memory_bytes;
  machine.memory.limit_bytes = {static_cast<double>(memory_bytes), "MemTotal"};
  return machine;
}

TEST(CautiousSetting, OneProcessForEachCacheGroup) {
  const CautiousSetting setting = cautious_setting_of(machine_of(16, 4, 256 * kGiB));
  EXPECT_EQ(setting.nproc, 4);
  EXPECT_EQ(setting.threads, 4);
  EXPECT_EQ(setting.binding, "compact");
  ASSERT_EQ(setting.env.size(), 1U);
  EXPECT_EQ(setting.env[0].second, "4");
}

TEST(CautiousSetting, OneProcessForEachGpu) {
  Machine machine = machine_of(16, 4, 256 * kGiB);
  machine.visible_gpus = {{0, 2, "GPU-2"}, {1, 0, "GPU-0"}};
  machine.p2p.verdict = "BROKEN";
  machine.p2p.env = {{"NCCL_P2P_DISABLE", "1"}};
  const CautiousSetting setting = cautious_setting_of(machine);
  EXPECT_EQ(setting.nproc, 2);
  EXPECT_EQ(setting.threads, 1);
  EXPECT_EQ(setting.workers, 4);
  EXPECT_EQ(setting.binding, "compact");
  EXPECT_THAT(setting.env, Contains(std::pair<std::string, std::string>("NCCL_P2P_DISABLE", "1")));
  EXPECT_THAT(setting.reasons, Contains(HasSubstr("2 visible GPUs: one process for each")));
  EXPECT_THAT(setting.reasons, Contains(HasSubstr("'ocrtune p2p' does")));

  machine.visible_gpus.pop_back();
  const CautiousSetting one = cautious_setting_of(machine);
  EXPECT_EQ(one.nproc, 1);
  EXPECT_EQ(one.env.size(), 1U);  // one GPU has no peer
  Machine small = machine_of(1, 1, 256 * kGiB);
  small.visible_gpus = {{0, 0, "a"}, {1, 1, "b"}};
  EXPECT_EQ(cautious_setting_of(small).binding, "none");  // two processes on one CPU
  EXPECT_EQ(cautious_setting_of(small).workers, 0);
}

TEST(CautiousSetting, NeverMoreThreadsThanUsableCpus) {
  for (int cores : {1, 2, 3, 7, 16, 63, 128}) {
    for (int groups : {1, 2, 3, 16}) {
      if (groups > cores) continue;
      for (double usable : {0.5, 1.0, 1.5, 5.9, 128.0}) {
        Machine machine = machine_of(cores, groups, 512 * kGiB);
        machine.cpu.usable_cpus.value = usable;
        const CautiousSetting setting = cautious_setting_of(machine);
        EXPECT_GE(setting.nproc, 1);
        EXPECT_GE(setting.threads, 1);
        EXPECT_LE(setting.nproc * setting.threads, std::max(1.0, usable));
        EXPECT_LE(setting.nproc * setting.threads, cores);
      }
    }
  }
}

TEST(CautiousSetting, MemoryLowersTheProcessCount) {
  const CautiousSetting setting = cautious_setting_of(machine_of(16, 8, 6 * kGiB));
  EXPECT_EQ(setting.nproc, 2);
  EXPECT_THAT(setting.reasons, Contains(HasSubstr("only 2 processes by memory")));
  const CautiousSetting tight = cautious_setting_of(machine_of(4, 1, kGiB));
  EXPECT_EQ(tight.nproc, 1);
  EXPECT_THAT(tight.reasons, Contains(HasSubstr("may not fit")));
}

TEST(CautiousSetting, MeasuredCapacityLowersItButOtherLoadDoesNot) {
  Machine machine = machine_of(8, 1, 64 * kGiB);
  machine.cpu.effective_cores = {4.1, "measured"};
  EXPECT_EQ(cautious_setting_of(machine).threads, 4);
  machine.cpu.external_cpus = 3.9;
  EXPECT_EQ(cautious_setting_of(machine).threads, 8);
}

TEST(CautiousSetting, SmtSiblingsAreNotCores) {
  Machine machine = machine_of(4, 1, 64 * kGiB);
  for (int core = 0; core < 4; ++core) machine.cpu.places.push_back({4 + core, core, 0, 0, 0, 1});
  machine.cpu.allowed = CpuSet::range(0, 7);
  machine.cpu.usable_cpus.value = 8;
  EXPECT_EQ(cautious_setting_of(machine).threads, 4);
}

TEST(CautiousSetting, UnknownFactsGiveNoSetting) {
  Machine machine;
  machine.cpu.usable_cpus.source = "nothing to read";
  const CautiousSetting setting = cautious_setting_of(machine);
  EXPECT_EQ(setting.nproc, 0);
  EXPECT_THAT(setting.reasons, Contains(HasSubstr("nothing to read")));
}

TEST(RulesOfThumb, ArithmeticOfTheRules) {
  Machine machine = machine_of(10, 1, 24684096ULL * 1024);
  EXPECT_EQ(rules_of_thumb_of(machine).memory_half, 11);
  EXPECT_EQ(rules_of_thumb_of(machine).cores_60_percent, 6);
  EXPECT_EQ(rules_of_thumb_of(machine).seven, 7);
  machine = machine_of(1, 1, kGiB);
  EXPECT_EQ(rules_of_thumb_of(machine).memory_half, 1);
  EXPECT_EQ(rules_of_thumb_of(machine).cores_60_percent, 1);
  EXPECT_EQ(rules_of_thumb_of(Machine()).memory_half, 0);
}

}  // namespace
}  // namespace ocrtune
