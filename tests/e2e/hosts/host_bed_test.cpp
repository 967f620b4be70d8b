// scripts/hosts itself: hosts that are apart, and that are gone afterwards.
#include "tests/support/host_bed.h"

#include <unistd.h>

#include <array>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

#define NEED_BED() \
  if (const std::string why = no_bed(); !why.empty()) GTEST_SKIP() << why

TEST(HostBed, HostsHaveNamesAddressesAndLimitsOfTheirOwn) {
  NEED_BED();
  const BedSaid said = run_in_bed({"a", "b:shm=16m,mtu=1400,eth1", "c:docker0,loopback"},
                                  "hostname; ssh b 'hostname; df -h /dev/shm; ip -br -4 address; "
                                  "cat /proc/net/dev; ip link show eth0; ps -e'; "
                                  "ssh c 'ip -br -4 address; getent ahostsv4 c'");
  EXPECT_EQ(said.code, 0) << said.text;
  for (const char* text : {"a\nb\n", " 16M ", "mtu 1400", "10.77.0.2/24", "10.78.0.2/24",
                           "172.17.0.1/16", "127.0.1.1"}) {
    EXPECT_THAT(said.text, HasSubstr(text));
  }
  EXPECT_THAT(said.text, Not(HasSubstr("host_bed")));  // b sees none of this machine's processes
}

TEST(HostBed, WrongUseAndDownHostsAreNamed) {
  NEED_BED();
  EXPECT_EQ(run_in_bed({"a:colour=red"}, "true").code, 2);
  const BedSaid said = run_in_bed({"a", "d:down"}, "ssh d true");
  EXPECT_EQ(said.code, 255);
  EXPECT_THAT(said.text, HasSubstr("No route to host"));
}

// Whether some process still lives in the network namespace "net:[4026532...]".
bool lives(const std::string& network) {
  for (const std::string& pid : list_directory("/proc").value_or({})) {
    std::array<char, 64> link{};
    const std::string path = "/proc/" + pid + "/ns/net";
    if (::readlink(path.c_str(), link.data(), link.size() - 1) > 0 && network == link.data()) {
      return true;
    }
  }
  return false;
}

TEST(HostBed, LeavesNothingWhereverItIsKilled) {
  NEED_BED();
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    auto process = Process::start(in_bed({"a", "b"}, "ssh b readlink /proc/self/ns/net; sleep 60"));
    ASSERT_TRUE(process);
    std::string network;
    for (int i = 0; i < 300 && network.find("]") == std::string::npos; ++i) {
      process->wait(0.1);
      network = process->output().contents();
    }
    network = std::string(trim(network));
    ASSERT_TRUE(lives(network)) << network;
    // As a terminal does: to the whole group. SIGKILL hits the script alone.
    ::kill(signal == SIGKILL ? process->pid() : -process->pid(), signal);
    process->wait(20);
    const double end = steady_clock().now_seconds() + 20;
    while (lives(network) && steady_clock().now_seconds() < end) {
      steady_clock().sleep_seconds(0.1);
    }
    EXPECT_FALSE(lives(network)) << signal_name(signal);
  }
}

}  // namespace
}  // namespace ocrtune
