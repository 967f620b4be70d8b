#include "probes/host/command_mask.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ocrtune {
namespace {

// Two nodes of four CPUs, all of them allowed but the last.
CpuFacts eight_cpus() {
  CpuFacts cpu;
  for (int i = 0; i < 8; ++i) {
    CpuPlace place;
    place.cpu = place.core = i;
    place.numa = i / 4;
    cpu.places.push_back(place);
  }
  cpu.allowed = CpuSet::range(0, 6);
  cpu.usable_cpus = {7, "affinity"};
  cpu.limits = {{7, "affinity"}};
  cpu.effective_cores = {6.5, "measured"};
  return cpu;
}

std::string mask_of(const std::vector<std::string>& command) {
  const auto mask = cpus_by_words(command, eight_cpus());
  return mask ? mask->text() : "none";
}

std::string mask_of(const std::string& command) { return mask_of(words(command)); }

TEST(CommandMask, WordsOfTasksetAndNumactlBind) {
  EXPECT_EQ(mask_of("taskset -c 1 python t.py"), "1");
  EXPECT_EQ(mask_of("taskset --cpu-list 0,2-3 python t.py -p 3"), "0,2-3");
  EXPECT_EQ(mask_of("/usr/bin/taskset -ac 4-7 python t.py"), "4-6") << "within what is allowed";
  EXPECT_EQ(mask_of("taskset 0x5 python t.py"), "0,2");
  EXPECT_EQ(mask_of("env A=b taskset F0 python t.py"), "4-6");
  EXPECT_EQ(mask_of("numactl -C 0-3 --membind=0 python t.py"), "0-3");
  EXPECT_EQ(mask_of("numactl --physcpubind=+1 python t.py"), "1");
  EXPECT_EQ(mask_of("numactl -m 0 -N 1 python t.py"), "4-6");
  EXPECT_EQ(mask_of("numactl --cpunodebind 0 -- python t.py"), "0-3");
  EXPECT_EQ(mask_of("numactl -C !0 python t.py"), "1-6");
  EXPECT_EQ(mask_of({"bash", "-c", "cd /x && exec taskset -c 2,3 python t.py"}), "2-3");
}

TEST(CommandMask, OtherWordsBindNothing) {
  for (const char* command :
       {"python t.py -c 1", "taskset -p 0x1 77", "taskset -cp 0 77", "taskset -c", "taskset",
        "taskset -c {cpus} python t.py", "taskset 0xzz python t.py", "taskset -c 7 python t.py",
        "numactl --interleave=all python -C 1", "numactl -C 9-1 python", "numactl -C +7 python",
        "numactl -N 5 python t.py", "numactl -- python -N 1", "numactl", ""}) {
    EXPECT_EQ(mask_of(command), "none") << command;
  }
  EXPECT_EQ(mask_of({"sh", "-c", "taskset -c 0 a & taskset -c 1 b & wait"}), "none");
}

TEST(CommandMask, ABoundCommandHasNoMoreThanItsCpus) {
  const CpuFacts one = cpus_of(eight_cpus(), words("taskset -c 1,2 python t.py"));
  EXPECT_EQ(one.allowed.text(), "1-2");
  EXPECT_EQ(one.usable_cpus.value, 2);
  EXPECT_EQ(one.effective_cores.value, 2);
  ASSERT_EQ(one.limits.size(), 2U);
  EXPECT_EQ(one.limits[0].value, 2);
  CpuFacts quota = eight_cpus();
  quota.usable_cpus = {1.5, "cpu.max"};
  EXPECT_EQ(cpus_of(quota, words("taskset -c 1,2 python t.py")).usable_cpus.value, 1.5);
  EXPECT_EQ(cpus_of(eight_cpus(), words("python t.py")).allowed.count(), 7);
}

}  // namespace
}  // namespace ocrtune
