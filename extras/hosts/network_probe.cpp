// A link is two requests: the receiver opens a port, then both ends work at once. Pairs of a round
// are disjoint, so that no host is in two measurements.
#include "extras/hosts/network_probe.h"

#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "extras/hosts/agent_messages.h"
#include "extras/hosts/pair_socket.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

Json parsed(const std::string& reply) {
  Json json = parse_message(reply);
  return json.is_object() ? json : Json{{"error", "its agent did not answer"}};
}

class NetworkProbe {
 public:
  NetworkProbe(Agents& agents, const std::vector<std::size_t>& agent_of)
      : agents_(agents), agent_of_(agent_of) {}

  // Links of disjoint pairs, at once.
  Status measure(const std::vector<Link*>& links) {
    std::vector<AgentRequest> listen, work;
    const std::string token = new_token();
    for (const Link* link : links) {
      const Json ask = {{"ask", "listen"},
                        {"address", link->to_nic.empty() ? "0.0.0.0" : link->to_address}};
      listen.push_back({agent_of_[link->to], ask.dump()});
    }
    const auto ports = OCRTUNE_TRY(agents_.ask(listen, 0));
    std::vector<Link*> open;
    for (std::size_t i = 0; i < links.size(); ++i) {
      Link& link = *links[i];
      const Json port = parsed(ports[i]);
      link.error = message_field<std::string>(port, "error", "");
      if (!link.error.empty()) continue;
      open.push_back(&link);
      const Json receive = {{"ask", "receive"}, {"token", token}, {"seconds", kPairSeconds}};
      const Json send = {
          {"ask", "send"},         {"from", link.from_nic.empty() ? "" : link.from_address},
          {"to", link.to_address}, {"port", message_field(port, "port", 0)},
          {"token", token},        {"seconds", kPairSeconds}};
      work.push_back({agent_of_[link.to], receive.dump()});
      work.push_back({agent_of_[link.from], send.dump()});
    }
    // The receiver waits for up to two connect times, and the sender sends for half a second more.
    const auto replies = OCRTUNE_TRY(agents_.ask(work, 3 * kPairConnectSeconds));
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Json received = parsed(replies[2 * i]), sent = parsed(replies[2 * i + 1]);
      open[i]->error =
          message_field(sent, "error", message_field<std::string>(received, "error", ""));
      open[i]->latency_seconds = message_field(sent, "latency_seconds", 0.0);
      open[i]->bytes_per_second = message_field(received, "bytes_per_second", 0.0);
    }
    return Status();
  }

 private:
  Agents& agents_;
  const std::vector<std::size_t>& agent_of_;
};

}  // namespace

Result<std::vector<Link>> measure_network(Agents& agents, const std::vector<HostCard>& cards,
                                          const std::vector<std::size_t>& agent_of) {
  NetworkProbe probe(agents, agent_of);
  std::vector<Link> all;
  for (const auto& round : pair_rounds(cards.size(), kMaxRounds)) {
    std::vector<std::vector<Link>> links;  // of each pair
    // One network of each pair at a time: a host is in one measurement at once.
    std::size_t turns = 0;
    for (const HostPair& pair : round) {
      links.push_back(links_of(cards, pair));
      turns = std::max(turns, links.back().size());
    }
    for (std::size_t turn = 0; turn < turns; ++turn) {
      std::vector<Link*> together;
      for (auto& of_pair : links) {
        if (turn < of_pair.size()) together.push_back(&of_pair[turn]);
      }
      OCRTUNE_TRY(probe.measure(together));
    }
    for (auto& of_pair : links) all.insert(all.end(), of_pair.begin(), of_pair.end());
  }
  // A neighbour's burst is no slow link: the second reading is alone on its hosts, and the better
  // one counts.
  for (const std::size_t slow : slow_links(all)) {
    Link again = all[slow];
    OCRTUNE_TRY(probe.measure({&again}));
    if (again.error.empty() && again.bytes_per_second > all[slow].bytes_per_second) {
      all[slow] = again;
    }
  }
  return all;
}

}  // namespace ocrtune
