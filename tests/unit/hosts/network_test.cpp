// Pairs of hosts and what their links say, without a network.
#include "extras/hosts/network.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/host/nics.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr double kGbit = 1e9 / 8;

TEST(PairRounds, EveryPairOnceAndNoHostTwiceInARound) {
  for (std::size_t hosts = 2; hosts <= 18; ++hosts) {
    std::set<HostPair> pairs;
    const auto rounds = pair_rounds(hosts, 17);
    EXPECT_EQ(rounds.size(), hosts - 1 + hosts % 2) << hosts;
    for (const auto& round : rounds) {
      std::set<std::size_t> busy;
      for (const HostPair& pair : round) {
        EXPECT_TRUE(pairs.insert(pair).second);
        EXPECT_TRUE(busy.insert(pair.first).second && busy.insert(pair.second).second);
      }
    }
    EXPECT_EQ(pairs.size(), hosts * (hosts - 1) / 2) << hosts;
  }
}

TEST(PairRounds, ManyHostsGetASampleInWhichEachHasManyPartners) {
  const auto rounds = pair_rounds(1000, 16);
  ASSERT_THAT(rounds, SizeIs(16));
  std::set<HostPair> pairs;
  for (const auto& round : rounds) {
    EXPECT_THAT(round, SizeIs(500));
    pairs.insert(round.begin(), round.end());
  }
  EXPECT_THAT(pairs, SizeIs(8000));
  EXPECT_THAT(pair_rounds(1, 16), IsEmpty());
}

HostCard card(const std::string& name, int number) {
  HostCard card;
  card.host = name;
  card.nics = {{"eth0", "10.0.0." + std::to_string(number), 24, 1500, 0, "ixgbe"}};
  return card;
}

std::vector<HostCard> three_hosts() { return {card("a", 1), card("b", 2), card("c", 3)}; }

std::vector<Link> all_links(const std::vector<HostCard>& cards, double rate) {
  std::vector<Link> links;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    for (std::size_t j = i + 1; j < cards.size(); ++j) {
      for (Link& link : links_of(cards, {i, j})) {
        link.bytes_per_second = rate;
        links.push_back(link);
      }
    }
  }
  return links;
}

std::string findings_of(const NetworkAnswer& answer) {
  std::string text;
  for (const HostFinding& finding : answer.findings) {
    text += finding.host + " " + finding.kind + ": " + finding.text + "\n";
  }
  return text;
}

TEST(Links, JoinTheNetworksThatBothHave) {
  auto cards = three_hosts();
  for (std::size_t i = 0; i < 2; ++i) {
    cards[i].nics.push_back({"docker0", "172.17.0.1", 16, 1500, 0, "bridge"});
    cards[i].nics.push_back({"p4p1", "192.168.7.1" + std::to_string(i), 24, 9000, 0, "mlx5"});
    cards[i].nics.push_back({"tap0", "10.9.0.1", 24, 1500, 0, "tun"});  // the same on both
  }
  const auto links = links_of(cards, {0, 1});
  ASSERT_THAT(links, SizeIs(4));
  EXPECT_EQ(links[0].network, "10.0.0.0/24");
  EXPECT_EQ(links[3].from_address, "192.168.7.11");
  EXPECT_EQ(links[3].to_address, "192.168.7.10");
}

TEST(Links, WithoutACommonNetworkFollowTheNames) {
  auto cards = three_hosts();
  cards[1].nics[0] = {"ens3", "10.1.0.2", 24, 1500, 0, "virtio_net"};
  cards[0].addresses = {{"b", "10.1.0.2"}};
  cards[1].addresses = {{"a", "10.0.0.1"}};
  const auto links = links_of(cards, {0, 1});
  ASSERT_THAT(links, SizeIs(2));
  EXPECT_EQ(links[0].network, "routed");
  EXPECT_EQ(links[0].to_nic, "ens3");
  cards[1].addresses = {{"a", "127.0.1.1"}};
  EXPECT_THAT(links_of(cards, {0, 1}), IsEmpty());
}

TEST(Network, EqualLinksGiveNoFindingAndTheirInterface) {
  const auto cards = three_hosts();
  const auto answer = judge_network(cards, all_links(cards, 9 * kGbit));
  EXPECT_EQ(findings_of(answer), "");
  EXPECT_EQ(answer.network, "10.0.0.0/24");
  ASSERT_THAT(answer.env, SizeIs(3));
  EXPECT_THAT(answer.env[0], ElementsAre(std::pair("NCCL_SOCKET_IFNAME", "eth0"),
                                         std::pair("GLOO_SOCKET_IFNAME", "eth0"),
                                         std::pair("OMPI_MCA_btl_tcp_if_include", "eth0")));
}

TEST(Network, AHostThatSendsSlowlyIsNamedOnce) {
  const auto cards = three_hosts();
  auto links = all_links(cards, 9 * kGbit);
  for (Link& link : links) {
    if (link.from == 1) link.bytes_per_second = 0.95 * kGbit;
  }
  EXPECT_THAT(findings_of(judge_network(cards, links)),
              MatchesRegex("b slow_link: sends at most 950 Mbit/s over 10.0.0.0/24, the others 9.0 "
                           "Gbit/s[^\n]*\n"));
  EXPECT_THAT(slow_links(links), SizeIs(2));
}

TEST(Network, OneSlowLinkAndOneSlowDirectionOfTwoHostsAreNamed) {
  const auto cards = three_hosts();
  auto links = all_links(cards, 9 * kGbit);
  links[0].bytes_per_second = kGbit;  // a to b alone
  EXPECT_THAT(findings_of(judge_network(cards, links)),
              HasSubstr("a slow_link: sends to b at 1.0 Gbit/s over 10.0.0.0/24; 9.0 Gbit/s back"));
  const std::vector<HostCard> two{cards[0], cards[1]};
  auto pair = all_links(two, 9 * kGbit);
  pair[1].bytes_per_second = kGbit;
  EXPECT_THAT(findings_of(judge_network(two, pair)), HasSubstr("b slow_link: sends to a at 1.0"));
}

TEST(Network, FarBelowTheNegotiatedSpeedIsNamedForTwoEqualLinks) {
  std::vector<HostCard> two{card("a", 1), card("b", 2)};
  two[0].nics[0].speed_mbit = two[1].nics[0].speed_mbit = 10000;
  EXPECT_EQ(findings_of(judge_network(two, all_links(two, 9 * kGbit))), "");
  EXPECT_THAT(findings_of(judge_network(two, all_links(two, kGbit))),
              HasSubstr("a below_speed: sends to b at 1.0 Gbit/s, its eth0 is set to 10.0 Gbit/s"));
}

TEST(Network, WhoCannotBeReachedRulesTheNetworkOut) {
  auto cards = three_hosts();
  for (std::size_t i = 0; i < 3; ++i) {
    cards[i].nics.push_back({"eth1", "10.5.0." + std::to_string(i + 1), 24, 1500, 0, "igb"});
  }
  auto links = all_links(cards, 9 * kGbit);
  for (Link& link : links) {
    if (link.network == "10.5.0.0/24") link.bytes_per_second = 0.9 * kGbit;
  }
  EXPECT_EQ(judge_network(cards, links).network, "10.0.0.0/24");
  links[0].error = "connect to 10.0.0.2: Connection timed out";
  links[0].bytes_per_second = 0;
  const auto answer = judge_network(cards, links);
  EXPECT_EQ(answer.network, "10.5.0.0/24");
  EXPECT_THAT(findings_of(answer), HasSubstr("a unreachable: cannot reach b at 10.0.0.2"));
}

TEST(Network, LargeMessagesThatDoNotArriveAreAnMtu) {
  const auto cards = three_hosts();
  auto links = all_links(cards, 9 * kGbit);
  links[0].bytes_per_second = 0;
  const auto answer = judge_network(cards, links);
  EXPECT_THAT(findings_of(answer), HasSubstr("a large_messages: small messages reach b"));
  EXPECT_EQ(answer.network, "");
}

TEST(Network, APrefixOfAnotherInterfaceIsMeantExactly) {
  auto cards = three_hosts();
  cards[0].nics.push_back({"eth01", "10.8.0.1", 24, 1500, 0, ""});
  const auto answer = judge_network(cards, all_links(cards, kGbit));
  EXPECT_EQ(answer.env[0][0].second, "=eth0");
  EXPECT_EQ(answer.env[1][0].second, "eth0");
}

}  // namespace
}  // namespace ocrtune
