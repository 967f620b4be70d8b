// Twenty points of the fault campaign: bench/faults has them all.
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"

namespace ocrtune {
namespace {

TEST(SlowFaultCampaign, NothingIsLostAndNothingIsLeft) {
  ProcessOptions options;
  options.arguments = {"python3",   join_path(OCRTUNE_SOURCE_DIR, "bench/faults"),
                       "--ocrtune", OCRTUNE_BINARY,
                       "--points",  "20",
                       "--seed",    "22",
                       "--minutes", "4"};
  auto campaign = Process::start(options);
  if (!campaign) GTEST_SKIP() << campaign.error().what;
  const auto& exit = campaign->wait(290);
  ASSERT_TRUE(exit) << campaign->output().contents();
  EXPECT_TRUE(exit->clean()) << campaign->output().contents();
}

}  // namespace
}  // namespace ocrtune
