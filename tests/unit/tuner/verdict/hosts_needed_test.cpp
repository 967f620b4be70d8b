#include "tuner/verdict/hosts_needed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

Setting ran(int nodes, double rate, double bytes_per_second = 0) {
  Setting setting;
  setting.summary.knobs.dims["nodes"] = std::to_string(nodes);
  setting.summary.samples_per_second = {rate, rate, rate};
  setting.summary.network_bytes_per_second = bytes_per_second;
  setting.rates = {rate};
  return setting;
}

// 8 samples in 0.05 s on one host; on two, 16 in 0.05 s and 0.35 s for 2 MB.
TEST(HostsNeeded, TwoHostsAreEvenWhereTheExchangeTakesAStepOfOne) {
  const std::vector<Setting> settings = {ran(1, 160), ran(2, 40, 2e6 / 0.4)};
  const HostsNeeded needed = hosts_needed(settings[0], settings);
  EXPECT_EQ(needed.nodes, 2);
  EXPECT_NEAR(needed.exposed_share, 0.35 / 0.4, 1e-9);
  EXPECT_NEAR(needed.allowed_share, 0.5, 1e-9);
  EXPECT_NEAR(needed.times_faster, 7, 1e-9);
  EXPECT_NEAR(needed.bytes_per_second, 2e6 / 0.35, 1);
  const Reason reason = one_host_reason(settings[0], settings);
  EXPECT_EQ(reason.code, ReasonCode::one_host_is_faster);
}

TEST(HostsNeeded, BytesThatWereNotCountedAreNotGuessed) {
  const std::vector<Setting> settings = {ran(1, 160), ran(2, 40)};
  EXPECT_EQ(one_host_reason(settings[0], settings).code, ReasonCode::one_host_is_faster_unknown);
}

TEST(HostsNeeded, NothingIsSaidOfSeveralHostsThatWinDidNotRunOrLoseByMoreThanTheNetwork) {
  const std::vector<Setting> win = {ran(2, 300, 1e6), ran(1, 160)};
  EXPECT_TRUE(one_host_reason(win[0], win).empty());
  const std::vector<Setting> one = {ran(1, 160)};
  EXPECT_TRUE(one_host_reason(one[0], one).empty());
  // Without batches of 32, which two hosts were not tried with, they would need no time at all.
  std::vector<Setting> other = {ran(1, 400), ran(1, 160), ran(2, 150, 1e6)};
  other[0].summary.knobs.batch = 32;
  EXPECT_TRUE(one_host_reason(other[0], other).empty());
}

}  // namespace
}  // namespace ocrtune
