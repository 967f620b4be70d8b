// Interfaces and addresses, from the kernel's own text.
#include "probes/host/nics.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

TEST(Addresses, AreToldFromNames) {
  for (const char* address : {"10.0.0.7", "127.0.1.1", "fe80::1"}) EXPECT_TRUE(is_address(address));
  for (const char* name : {"node7", "10", "a.b", ""}) EXPECT_FALSE(is_address(name)) << name;
  EXPECT_TRUE(is_loopback("127.0.1.1"));
}

TEST(NicBytes, TheLargerDirectionOfEachInterfaceButLoopback) {
  const std::string text =
      "Inter-|   Receive                            |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
      "    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0\n"
      "  eth0: 100 1 0 0 0 0 0 0 250 2 0 0 0 0 0 0\n"
      "enp3s0:700 1 0 0 0 0 0 0 3 2 0 0 0 0 0 0\n"
      "  cut: 5\n";
  const auto bytes = parse_nic_bytes(text);
  EXPECT_THAT(bytes, ElementsAre(testing::Pair("enp3s0", 700), testing::Pair("eth0", 250)));
}

}  // namespace
}  // namespace ocrtune
