#include "reports/console/machine_console.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "probes/probe.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Machine probe(const std::string& name) {
  ProbeOptions options;
  options.root = std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/machines/" + name;
  return probe_machine(options).value();
}

TEST(MachineCard, AtMost25LinesOnEveryMachine) {
  for (const char* name :
       {"two-socket-server", "hybrid-laptop", "docker-quota-in-parent", "slurm-share",
        "cgroup-v1-quota", "docker-v1-no-namespace", "garbage-files", "missing-files"}) {
    const std::string card = machine_card(probe(name));
    EXPECT_LE(std::count(card.begin(), card.end(), '\n'), 25) << card;
    EXPECT_THAT(card, Not(HasSubstr("..."))) << "nothing is cut in a pipe";
  }
}

TEST(MachineCard, WrapsToANarrowTerminalAndLosesNothing) {
  const Machine machine = probe("docker-quota-in-parent");
  const auto joined = [](const std::string& card) { return join(words(card), " "); };
  const std::string card = machine_card(machine, 70);
  std::istringstream lines(card);
  for (std::string line; std::getline(lines, line);) {
    const bool one_long_word = words(line).size() == 1;  // the path of this checkout
    EXPECT_TRUE(line.size() <= 70 || one_long_word) << line;
  }
  EXPECT_EQ(joined(card), joined(machine_card(machine)));
}

TEST(MachineCard, FewNodesAreListedWithTheirCpus) {
  const Machine machine = probe("two-socket-server");
  ASSERT_EQ(machine.cpu.numa_nodes, 2);
  EXPECT_THAT(machine_card(machine), HasSubstr("free, CPUs 0-"));
}

TEST(MachineCard, ShowsLimitsRulesAndThatNothingWasMeasured) {
  const std::string card = machine_card(probe("docker-quota-in-parent"));
  EXPECT_THAT(card, HasSubstr("1.5 usable of 4 (limited by cpu.max of /batch.slice)"));
  EXPECT_THAT(card, HasSubstr("4.0 GiB limit (memory.max of /batch.slice), 3.0 GiB free"));
  EXPECT_THAT(card, HasSubstr("half the memory in GB: 15 processes; 60 % of the cores: 2 "
                              "processes; \"at most about 7\""));
  EXPECT_THAT(card, HasSubstr("nproc=1 threads=1"));
  EXPECT_THAT(card, HasSubstr("NOT measured"));
  EXPECT_THAT(card, HasSubstr("saved tree"));
  EXPECT_THAT(card, HasSubstr("--shm-size=8g"));
}

TEST(MachineCard, UnknownIsSaidInWords) {
  const std::string card = machine_card(probe("garbage-files"));
  EXPECT_THAT(card, HasSubstr("CPUs        unknown: "));
  EXPECT_THAT(card, HasSubstr("60 % of the cores: unknown"));
  EXPECT_THAT(card, Not(HasSubstr("0 B")));
  EXPECT_THAT(card, Not(HasSubstr("nproc=0")));
}

TEST(MachineCard, LongListsEndWithACount) {
  Machine machine = probe("two-socket-server");
  for (int i = 0; i < 40; ++i) machine.warnings.push_back("warning " + std::to_string(i));
  for (int i = 0; i < 40; ++i) machine.unknowns.push_back("unknown " + std::to_string(i));
  const std::string card = machine_card(machine);
  EXPECT_LE(std::count(card.begin(), card.end(), '\n'), 25) << card;
  EXPECT_THAT(card, HasSubstr("more: --json lists them"));
  EXPECT_THAT(card, HasSubstr("unknown 0"));
}

TEST(MachineCard, HybridCpusAndMeasuredCurves) {
  Machine machine = probe("hybrid-laptop");
  machine.cpu.effective_cores = {3.5, "measured"};
  machine.cpu.scaling = {{1, 1.0}, {4, 3.5}};
  machine.memory.bandwidth = {{1, 1.2e10}, {4, 3.04e10}};
  machine.memory.bandwidth_bytes_per_second = {3.04e10, "measured"};
  const std::string card = machine_card(machine);
  EXPECT_THAT(card, HasSubstr("3.50 cores' worth"));
  EXPECT_THAT(card, HasSubstr("1: 1.00, 4: 3.50"));
  EXPECT_THAT(card, HasSubstr("30.4 GB/s"));
}

}  // namespace
}  // namespace ocrtune
