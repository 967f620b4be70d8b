#include "extras/hosts/host_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::ElementsAre;

TEST(HostGuard, LooksUntilTheTrialEnds) {
  std::uint64_t left = 8ULL << 30;
  int looks = 0;
  const Trial trial = guard_memory(
      [&] {
        left -= 1ULL << 30;
        return left;
      },
      [&] { return ++looks > 4; });
  EXPECT_TRUE(trial.ok());
  EXPECT_EQ(looks, 5);
  EXPECT_THAT(trial.evidence,
              ElementsAre("its available memory fell by 4.0 GiB, by all programs on it"));
}

TEST(HostGuard, AHostThatRunsFullEndsTheTrial) {
  std::uint64_t left = 8ULL << 30;
  const Trial trial = guard_memory(
      [&] {
        const std::uint64_t now = left;
        left /= 4;
        return now;
      },
      [] { return false; });
  EXPECT_EQ(trial.outcome, Outcome::out_of_memory);
  EXPECT_EQ(trial.cause, "host");
  EXPECT_THAT(trial.reason, testing::HasSubstr("had 32.0 MiB of memory left"));
}

}  // namespace
}  // namespace ocrtune
