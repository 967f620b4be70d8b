// A few points of the fault campaign and some hours of the soak: bench/faults has them all.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "cli/extras.h"

namespace ocrtune {
namespace {

// Runs a program of bench/faults, which ends with 0 where all held.
void expect_held(const std::string& program, const std::vector<std::string>& arguments) {
  if (!missing_commands().empty()) GTEST_SKIP() << "a build without all extras";
  ProcessOptions options;
  options.arguments = {"python3", join_path(OCRTUNE_SOURCE_DIR, "bench/faults/" + program),
                       "--ocrtune", OCRTUNE_BINARY};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  auto campaign = Process::start(options);
  if (!campaign) GTEST_SKIP() << campaign.error().what;
  const auto& exit = campaign->wait(290);
  ASSERT_TRUE(exit) << campaign->output().contents();
  if (exit->code == 77) GTEST_SKIP() << campaign->output().contents();
  EXPECT_TRUE(exit->clean()) << campaign->output().contents();
}

TEST(FaultCampaign, NothingIsLostAndNothingIsLeft) {
  expect_held("campaign.py", {"--points", "6", "--seed", "34", "--minutes", "1"});
}

class SlowFaultCampaign : public testing::TestWithParam<const char*> {};

TEST_P(SlowFaultCampaign, NothingIsLostAndNothingIsLeft) {
  expect_held("campaign.py",
              {"--points", "40", "--seed", "22", "--minutes", "4", "--state", GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Machine, SlowFaultCampaign, testing::Values("quiet", "busy", "tight"),
                         [](const auto& one) { return std::string(one.param); });

// Failures of every cause, more than one after the other; all 12 hours take 20 minutes.
TEST(SlowSoak, HoursOfRunGrowNothing) {
  expect_held("soak.py", {"--hours", "2", "--speed", "40", "--seed", "3"});
}

}  // namespace
}  // namespace ocrtune
