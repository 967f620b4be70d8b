// Which hosts are slow, from rates alone.
#include "extras/hosts/seeded_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

HostRates host(const char* name, double rate, double spread = 0.01) {
  return {name, {rate * (1 - spread), rate, rate * (1 + spread), rate, rate}};
}

TEST(SlowHosts, AmongManyTheOneFarFromTheMedianIsNamed) {
  EXPECT_THAT(
      slow_hosts({host("a", 100), host("b", 99), host("c", 70), host("d", 101), host("e", 100)}),
      ElementsAre(2));
  EXPECT_THAT(slow_hosts({host("a", 100), host("b", 97), host("c", 99), host("d", 101)}),
              IsEmpty());
}

TEST(SlowHosts, TwoKindsOfHostAreNoStragglers) {
  EXPECT_THAT(slow_hosts({host("a", 100), host("b", 101), host("c", 50), host("d", 51),
                          host("e", 99), host("f", 50)}),
              IsEmpty());
}

TEST(SlowHosts, OfTwoTheSlowerIsNamedOnlyBeyondTheNoiseOfTheWindows) {
  EXPECT_THAT(slow_hosts({host("a", 100), host("b", 80)}), ElementsAre(1));
  const HostRates noisy{"a", {100, 60, 80, 120, 140}};
  EXPECT_THAT(slow_hosts({noisy, host("b", 80)}), IsEmpty());
  EXPECT_THAT(slow_hosts({host("a", 100)}), IsEmpty());
  EXPECT_THAT(slow_hosts({}), IsEmpty());
}

TEST(SlowHosts, AreHeldAgainstTheMedianOrOfFewTheFastest) {
  EXPECT_NEAR(usual_rate({host("a", 100), host("b", 80)}), 100, 1e-9);
  EXPECT_NEAR(usual_rate({host("a", 100), host("b", 80), host("c", 90), host("d", 90)}), 90, 1e-9);
  EXPECT_EQ(usual_rate({}), 0);
}

}  // namespace
}  // namespace ocrtune
