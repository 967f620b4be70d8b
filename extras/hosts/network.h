// The network between hosts as pairs: which are tested when, what the figures say, and by which
// interface each host should talk. Pure; network_probe.h measures.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "extras/hosts/host_card.h"
#include "extras/hosts/host_facts.h"

namespace ocrtune {

using HostPair = std::pair<std::size_t, std::size_t>;

// Rounds of disjoint pairs, so that each host is in one pair at a time; together every pair once
// (n - 1 rounds, n if odd), or evenly chosen `most` of those rounds.
std::vector<std::vector<HostPair>> pair_rounds(std::size_t hosts, std::size_t most);

// One direction between two hosts over one network.
struct Link {
  std::size_t from = 0, to = 0;  // of the cards
  std::string network;           // "10.77.0.0/24", or "routed": by names, over routers
  std::string from_nic, from_address, to_nic, to_address;
  double latency_seconds = 0;
  double bytes_per_second = 0;
  std::string error;  // empty: it was measured
};

// The links of a pair: each network that both have, a bridge of docker's and an address that both
// have left out; else the one that the names lead to.
std::vector<Link> links_of(const std::vector<HostCard>& cards, HostPair pair);

// Links much slower than their network's others, or than their way back: to be measured again
// before they are named.
std::vector<std::size_t> slow_links(const std::vector<Link>& links);

struct NetworkAnswer {
  std::string network;                                                // "": none joins all
  double bytes_per_second = 0;                                        // the slowest link of it
  std::vector<std::vector<std::pair<std::string, std::string>>> env;  // of each card
  std::vector<HostFinding> findings;
};

// Who cannot reach whom, which host or link is slow, and the fastest network that joins all hosts.
NetworkAnswer judge_network(const std::vector<HostCard>& cards, const std::vector<Link>& links);

}  // namespace ocrtune
