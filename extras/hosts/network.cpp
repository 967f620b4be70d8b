// Pure judgement over links that network_probe.cpp has measured. A slow host is named once in place
// of each of its links, and a network is recommended only if every link of it carried large
// messages.
#include "extras/hosts/network.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"
#include "trial/workloads/command/command_fill.h"

namespace ocrtune {
namespace {

// Guesses: of the usual rate, and of the speed that an interface states.
constexpr double kSlowShare = 0.5;
constexpr double kFarBelowSpeed = 0.3;
constexpr const char* kRouted = "routed";

std::string rate_text(double bytes_per_second) {
  const double mbit = bytes_per_second * 8e-6;
  return mbit >= 1000 ? fmt::format("{:.1f} Gbit/s", mbit / 1000)
                      : fmt::format("{:.0f} Mbit/s", mbit);
}

bool has_address(const HostCard& card, const std::string& address) {
  return std::any_of(card.nics.begin(), card.nics.end(),
                     [&](const Nic& nic) { return nic.address == address; });
}

std::string nic_of(const HostCard& card, const std::string& address) {
  for (const Nic& nic : card.nics) {
    if (nic.address == address) return nic.name;
  }
  return "";
}

// Their speeds are words: a virtual interface names 10 Gbit/s whatever lies under it.
bool is_virtual(const Nic& nic) {
  return nic.driver == "veth" || nic.driver == "bridge" || nic.driver == "tun" ||
         starts_with(nic.driver, "virtio");
}

bool measured(const Link& link) { return link.error.empty(); }

using Rates = std::map<std::string, std::vector<double>>;  // by network

Rates rates_of(const std::vector<Link>& links) {
  Rates rates;
  for (const Link& link : links) {
    if (measured(link)) rates[link.network].push_back(link.bytes_per_second);
  }
  return rates;
}

const Link* way_back(const std::vector<Link>& links, const Link& link) {
  for (const Link& other : links) {
    if (other.from == link.to && other.to == link.from && other.network == link.network) {
      return &other;
    }
  }
  return nullptr;
}

bool is_slow(const std::vector<Link>& links, const Link& link, const Rates& rates) {
  if (!measured(link)) return false;
  const double usual = median(rates.at(link.network));
  const Link* back = way_back(links, link);
  const double other = back != nullptr && measured(*back) ? back->bytes_per_second : 0;
  return link.bytes_per_second < kSlowShare * std::max(usual, other);
}

class NetworkJudge {
 public:
  NetworkJudge(const std::vector<HostCard>& cards, const std::vector<Link>& links)
      : cards_(cards), links_(links), rates_(rates_of(links)) {}

  NetworkAnswer run() {
    find_unreachable();
    find_slow();
    find_below_speed();
    choose();
    return std::move(answer_);
  }

 private:
  const std::string& name(std::size_t host) const { return cards_[host].host; }

  void add(const std::string& host, const char* kind, std::string text) {
    answer_.findings.push_back({host, kind, std::move(text)});
  }

  void find_unreachable() {
    for (const Link& link : links_) {
      if (measured(link)) continue;
      add(name(link.from), "unreachable",
          fmt::format("cannot reach {} at {} ({}, {}): {}; a firewall, or the wrong interface",
                      name(link.to), link.to_address, link.to_nic, link.network, link.error));
    }
    for (const Link& link : links_) {
      // Pings are a byte each and passed: what fails is of the size of a frame.
      if (measured(link) && link.bytes_per_second <= 0) {
        add(name(link.from), "large_messages",
            fmt::format("small messages reach {} at {}, large ones do not: an MTU that some switch "
                        "on the way does not carry",
                        name(link.to), link.to_address));
      }
    }
  }

  // All links of one host in one direction slow: the host is named once.
  bool name_host(std::size_t host, const std::string& network, bool sends) {
    std::vector<double> own, others;
    for (const Link& link : links_) {
      if (link.network != network || !measured(link)) continue;
      const bool its = (sends ? link.from : link.to) == host;
      (its ? own : others).push_back(link.bytes_per_second);
    }
    constexpr std::size_t kMinLinks = 2;
    if (own.size() < kMinLinks || others.empty()) return false;
    const double best = *std::max_element(own.begin(), own.end());
    if (best >= kSlowShare * median(others)) return false;
    add(name(host), "slow_link",
        fmt::format("{} at most {} over {}, the others {}: a cable or port that fell back, or a "
                    "limit",
                    sends ? "sends" : "receives", rate_text(best), network,
                    rate_text(median(others))));
    return true;
  }

  void find_slow() {
    std::set<std::pair<std::size_t, std::string>> senders, receivers;
    for (const auto& [network, all] : rates_) {
      for (std::size_t host = 0; host < cards_.size(); ++host) {
        if (name_host(host, network, true)) senders.insert({host, network});
        if (name_host(host, network, false)) receivers.insert({host, network});
      }
    }
    for (const Link& link : links_) {
      if (!is_slow(links_, link, rates_) || link.bytes_per_second <= 0) continue;
      if (senders.count({link.from, link.network}) || receivers.count({link.to, link.network})) {
        continue;
      }
      const Link* back = way_back(links_, link);
      add(name(link.from), "slow_link",
          fmt::format("sends to {} at {} over {}; {} back, {} between hosts at the median",
                      name(link.to), rate_text(link.bytes_per_second), link.network,
                      back != nullptr && measured(*back) ? rate_text(back->bytes_per_second)
                                                         : std::string("nothing"),
                      rate_text(median(rates_.at(link.network)))));
    }
  }

  const Nic* nic_at(std::size_t host, const std::string& address) const {
    for (const Nic& nic : cards_[host].nics) {
      if (nic.address == address) return &nic;
    }
    return nullptr;
  }

  // Where no other link is faster, the speed that the interfaces agreed on is what to compare with.
  void find_below_speed() {
    for (const Link& link : links_) {
      const Nic *from = nic_at(link.from, link.from_address),
                *to = nic_at(link.to, link.to_address);
      if (from == nullptr || to == nullptr || link.bytes_per_second <= 0) continue;
      if (is_virtual(*from) || is_virtual(*to) || is_slow(links_, link, rates_)) continue;
      const double speed = 1e6 / 8 * std::min(from->speed_mbit, to->speed_mbit);
      if (link.bytes_per_second >= kFarBelowSpeed * speed) continue;
      add(name(link.from), "below_speed",
          fmt::format("sends to {} at {}, its {} is set to {}", name(link.to),
                      rate_text(link.bytes_per_second), from->name, rate_text(speed)));
    }
  }

  bool joins_all(const std::string& network) const {
    std::set<std::size_t> hosts;
    for (const Link& link : links_) {
      if (link.network != network) continue;
      if (!measured(link) || link.bytes_per_second <= 0) return false;
      hosts.insert(link.from);
      hosts.insert(link.to);
    }
    return hosts.size() == cards_.size();
  }

  void choose() {
    for (const auto& [network, rates] : rates_) {
      if (!joins_all(network)) continue;
      const double slowest = *std::min_element(rates.begin(), rates.end());
      // Ranks wait for the slowest link: the network whose slowest is fastest is the best.
      if (slowest <= answer_.bytes_per_second) continue;
      answer_.bytes_per_second = slowest;
      answer_.network = network;
    }
    if (answer_.network.empty()) return;
    for (std::size_t host = 0; host < cards_.size(); ++host) answer_.env.push_back(env_of(host));
  }

  std::vector<std::pair<std::string, std::string>> env_of(std::size_t host) const {
    std::string nic;
    for (const Link& link : links_) {
      if (link.network != answer_.network) continue;
      if (link.from == host) nic = link.from_nic;
      if (link.to == host) nic = link.to_nic;
    }
    const bool is_prefix = std::any_of(
        cards_[host].nics.begin(), cards_[host].nics.end(),
        [&](const Nic& other) { return other.name != nic && starts_with(other.name, nic); });
    return {{"NCCL_SOCKET_IFNAME", (is_prefix ? "=" : "") + nic},  // NCCL takes a prefix
            {"GLOO_SOCKET_IFNAME", nic},
            {"OMPI_MCA_btl_tcp_if_include", nic}};
  }

  const std::vector<HostCard>& cards_;
  const std::vector<Link>& links_;
  Rates rates_;
  NetworkAnswer answer_;
};

}  // namespace

std::vector<std::vector<HostPair>> pair_rounds(std::size_t hosts, std::size_t most) {
  std::vector<std::vector<HostPair>> rounds;
  if (hosts < 2) return rounds;
  // The circle method: one host stays, the others go round; with an odd number one rests.
  const std::size_t seats = hosts + hosts % 2;
  const std::size_t all = seats - 1, wanted = std::min(most, all);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t turn = i * all / wanted;
    const auto seat = [&](std::size_t place) {
      return place == 0 ? 0 : 1 + (place - 1 + turn) % all;
    };
    std::vector<HostPair> round;
    for (std::size_t place = 0; place < seats / 2; ++place) {
      const std::size_t a = seat(place), b = seat(seats - 1 - place);
      if (a < hosts && b < hosts) round.emplace_back(std::min(a, b), std::max(a, b));
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Link> links_of(const std::vector<HostCard>& cards, HostPair pair) {
  const HostCard &a = cards[pair.first], &b = cards[pair.second];
  std::vector<Link> links;
  const auto add = [&](const std::string& network, const Nic& from, const Nic& to) {
    links.push_back(
        {pair.first, pair.second, network, from.name, from.address, to.name, to.address, 0, 0, ""});
    links.push_back(
        {pair.second, pair.first, network, to.name, to.address, from.name, from.address, 0, 0, ""});
  };
  std::set<std::string> joined;
  for (const Nic& from : a.nics) {
    for (const Nic& to : b.nics) {
      if (from.only_of_this_host() || to.only_of_this_host() || from.network() != to.network() ||
          has_address(a, to.address) || has_address(b, from.address)) {
        continue;
      }
      if (joined.insert(from.network()).second) add(from.network(), from, to);
    }
  }
  // Only hosts without a common network are asked over routers.
  if (!links.empty()) return links;
  const auto to_b = a.addresses.find(plain_host(b.host)),
             to_a = b.addresses.find(plain_host(a.host));
  if (to_b == a.addresses.end() || to_a == b.addresses.end() || to_b->second.empty() ||
      to_a->second.empty() || is_loopback(to_b->second) || is_loopback(to_a->second)) {
    return links;
  }
  add(kRouted, {nic_of(a, to_a->second), to_a->second, 0, 0, 0, ""},
      {nic_of(b, to_b->second), to_b->second, 0, 0, 0, ""});
  return links;
}

std::vector<std::size_t> slow_links(const std::vector<Link>& links) {
  const Rates rates = rates_of(links);
  std::vector<std::size_t> slow;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (is_slow(links, links[i], rates)) slow.push_back(i);
  }
  return slow;
}

NetworkAnswer judge_network(const std::vector<HostCard>& cards, const std::vector<Link>& links) {
  return NetworkJudge(cards, links).run();
}

}  // namespace ocrtune
