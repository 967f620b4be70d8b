// A few points of the fault campaign: bench/faults/campaign.py has them all.
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"

namespace ocrtune {
namespace {

void expect_nothing_lost(const std::string& points, const std::string& seed,
                         const std::string& minutes) {
  ProcessOptions options;
  options.arguments = {"python3",   join_path(OCRTUNE_SOURCE_DIR, "bench/faults/campaign.py"),
                       "--ocrtune", OCRTUNE_BINARY,
                       "--points",  points,
                       "--seed",    seed,
                       "--minutes", minutes};
  auto campaign = Process::start(options);
  if (!campaign) GTEST_SKIP() << campaign.error().what;
  const auto& exit = campaign->wait(290);
  ASSERT_TRUE(exit) << campaign->output().contents();
  EXPECT_TRUE(exit->clean()) << campaign->output().contents();
}

TEST(FaultCampaign, NothingIsLostAndNothingIsLeft) { expect_nothing_lost("6", "34", "1"); }
TEST(SlowFaultCampaign, NothingIsLostAndNothingIsLeft) { expect_nothing_lost("20", "22", "4"); }

}  // namespace
}  // namespace ocrtune
