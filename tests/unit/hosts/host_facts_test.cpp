// What differs between hosts and what is wrong with one, from their cards alone.
#include "extras/hosts/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HostCard card(const std::string& name, const std::string& address) {
  HostCard card;
  card.host = card.own_name = name;
  card.own_address = address;
  card.machine.kernel = "6.1.0";
  card.machine.cpu.usable_cpus = {16.0, "affinity"};
  card.machine.memory.limit_bytes = {64e9, "MemTotal"};
  card.machine.memory.shm_bytes = {32'000'000'000ULL, "/dev/shm"};
  card.machine.ulimits = {{"open files", "1024"}};
  card.nics = {{"eth0", address, 24, 1500, 10000, "ixgbe"}};
  card.addresses = {{"a", "10.0.0.1"}, {"b", "10.0.0.2"}, {"c", "10.0.0.3"}};
  return card;
}

std::vector<HostCard> three() {
  return {card("a", "10.0.0.1"), card("b", "10.0.0.2"), card("c", "10.0.0.3")};
}

std::vector<std::string> keys(const std::vector<HostCard>& cards) {
  const auto compared = compare_configs(comparable_hosts(cards), {});
  std::vector<std::string> keys;
  for (const auto& difference : compared->differences) keys.push_back(difference.key);
  for (const auto& difference : compared->local) keys.push_back(difference.key);
  return keys;
}

std::vector<std::string> kinds(const std::vector<HostFinding>& findings) {
  std::vector<std::string> all;
  for (const HostFinding& finding : findings) all.push_back(finding.host + " " + finding.kind);
  return all;
}

TEST(HostFacts, EqualHostsHaveNoDifferenceAndNoFinding) {
  auto cards = three();
  cards[1].machine.memory.limit_bytes = {63.2e9, "MemTotal"};  // the firmware took some
  EXPECT_THAT(keys(cards), IsEmpty());
  EXPECT_THAT(name_findings(cards), IsEmpty());
}

TEST(HostFacts, EachDifferenceIsNamed) {
  auto cards = three();
  cards[0].machine.kernel = "5.10";
  cards[1].machine.memory.shm_bytes = {64'000'000ULL, "/dev/shm"};
  cards[1].machine.cpu.usable_cpus = {8.0, "cpuset"};
  cards[1].machine.ulimits = {{"open files", "256"}};
  cards[2].nics[0].speed_mbit = 1000;
  GpuFacts gpu;
  gpu.name = "RTX 4090";
  gpu.driver = "550.1";
  cards[2].machine.gpus = {gpu};
  cards[2].config.values["version.torch"] = "2.1";
  EXPECT_THAT(keys(cards), ElementsAre("host.gpus", "host.interfaces", "host.shm",
                                       "host.ulimit.open files", "host.usable_cpus",
                                       "version.nvidia-driver", "version.torch", "host.kernel"));
}

TEST(HostFacts, ABridgeOfOneHostAloneIsNoDifference) {
  auto cards = three();
  cards[0].nics.push_back({"docker0", "172.17.0.1", 16, 1500, 0, "bridge"});
  EXPECT_THAT(keys(cards), IsEmpty());
}

TEST(HostFacts, NamesThatLeadAstrayAreFound) {
  auto cards = three();
  cards[1].own_address = "127.0.1.1";
  cards[2].own_address = "";
  cards[0].addresses["c"] = "";
  cards[1].addresses["a"] = "192.168.0.1";
  const auto findings = name_findings(cards);
  EXPECT_THAT(kinds(findings), ElementsAre("b own_name", "c own_name", "a name", "c name"));
  EXPECT_THAT(findings[0].text, HasSubstr("127.0.1.1"));
  EXPECT_THAT(findings[2].text, HasSubstr("10.0.0.1 on c; 192.168.0.1 on b"));
}

TEST(HostFacts, OneAddressOnTwoHostsAndTwoInterfacesOfOneNetworkAreFound) {
  auto cards = three();
  for (std::size_t i = 0; i < 3; i += 2)
    cards[i].nics.push_back({"docker0", "172.17.0.1", 16, 1500, 0, ""});
  cards[1].nics.push_back({"eth1", "10.0.0.9", 24, 1500, 0, ""});
  const auto findings = name_findings(cards);
  EXPECT_THAT(kinds(findings), ElementsAre("b two_interfaces", " duplicate_address"));
  EXPECT_THAT(findings[1].text, HasSubstr("docker0 172.17.0.1 is on a, c alike"));
}

TEST(HostFacts, AClockIsWrongOnlyBeyondWhatTheReadingKnows) {
  const auto findings =
      clock_findings({{"a", 0.4, 0.01}, {"b", 5.0, 6.0}, {"c", -90.0, 0.1}, {"d", 1.3, 0.1}});
  EXPECT_THAT(kinds(findings), ElementsAre("c clock", "d clock"));
  EXPECT_THAT(findings[0].text, HasSubstr("90.0 s behind"));
}

TEST(HostCard, ComesBackFromJsonAsItWas) {
  HostCard one = card("a", "10.0.0.1");
  one.config.values["env.NCCL_DEBUG"] = "INFO";
  one.notes = {"no package versions"};
  auto read = parse_host_card(host_card_json(one));
  ASSERT_TRUE(read) << read.error().what;
  read->host = one.host;
  EXPECT_EQ(host_card_json(*read), host_card_json(one));
  EXPECT_EQ(read->nics[0].network(), "10.0.0.0/24");
  EXPECT_FALSE(parse_host_card("{\"own_name\": 3}").ok());
  EXPECT_FALSE(parse_host_card("nothing").ok());
}

}  // namespace
}  // namespace ocrtune
