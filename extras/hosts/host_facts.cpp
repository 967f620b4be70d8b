// A card's facts get keys of consistency_rules.cpp ("host.kernel"), so that hosts are compared by
// the code that compares configurations. Findings are what is wrong even where all hosts agree.
#include "extras/hosts/host_facts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"
#include "trial/workloads/command/command_fill.h"

namespace ocrtune {
namespace {

constexpr double kSameShare = 0.05;
constexpr double kClockSeconds = 1;  // NCCL and Gloo do not care; logs, makefiles and tokens do

void put(FlatConfig& config, const std::string& key, const std::string& value) {
  if (!value.empty()) config.values[key] = value;
}

template <typename T, typename Text>
void put_fact(FlatConfig& config, const std::string& key, const Fact<T>& fact, const Text& text) {
  if (fact.known()) put(config, key, text(*fact.value));
}

std::string gpus_text(const Machine& machine) {
  std::map<std::string, int> count;
  for (const GpuFacts& gpu : machine.gpus) ++count[gpu.name];
  std::vector<std::string> parts;
  for (const auto& [name, number] : count) parts.push_back(fmt::format("{} x {}", number, name));
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string nics_text(const std::vector<Nic>& nics) {
  std::set<std::string> parts;  // an interface with two addresses is one
  for (const Nic& nic : nics) {
    if (nic.only_of_this_host()) continue;
    std::string part = fmt::format("{} mtu {}", nic.name, nic.mtu);
    if (nic.speed_mbit > 0) part += fmt::format(" {} Mbit/s", nic.speed_mbit);
    parts.insert(part);
  }
  return join({parts.begin(), parts.end()}, ", ");
}

FlatConfig facts_of(const HostCard& card) {
  FlatConfig config = card.config;
  config.name = card.host;
  const Machine& machine = card.machine;
  const auto same = [](const std::string& text) { return text; };
  put(config, "host.kernel", machine.kernel);
  put(config, "host.os", machine.os);
  put(config, "host.cpu", machine.cpu.model);
  put_fact(config, "host.usable_cpus", machine.cpu.usable_cpus,
           [](double cpus) { return fmt::format("{:.4g}", cpus); });
  put(config, "host.cores", fmt::format("{}", machine.cpu.physical_cores));
  put(config, "host.numa_nodes", fmt::format("{}", machine.cpu.numa_nodes));
  put(config, "host.isa", join(machine.cpu.isa, " "));
  put_fact(config, "host.governor", machine.cpu.governor, same);
  put_fact(config, "host.container", machine.container, same);
  put_fact(config, "host.virtual_machine", machine.virtual_machine, same);
  put_fact(config, "host.transparent_hugepages", machine.memory.transparent_hugepages, same);
  put(config, "host.swap", machine.memory.swap_total_bytes > 0 ? "yes" : "no");
  put(config, "host.gpus", gpus_text(machine));
  put(config, "host.interfaces", nics_text(card.nics));
  for (const auto& [name, value] : machine.ulimits) put(config, "host.ulimit." + name, value);
  for (const SystemSetting& setting : machine.settings) {
    if (setting.name == "nccl_version") put(config, "version.nccl", setting.value);
  }
  if (!machine.gpus.empty()) put(config, "version.nvidia-driver", machine.gpus[0].driver);
  return config;
}

// Sizes that differ by a firmware's share are the same size.
void put_sizes(const std::string& key, const std::vector<double>& sizes,
               std::vector<FlatConfig>& configs) {
  const double middle = median(sizes);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const bool same = std::fabs(sizes[i] - middle) <= kSameShare * middle;
    if (sizes[i] <= 0) continue;
    put(configs[i], key, format_bytes(static_cast<std::uint64_t>(same ? middle : sizes[i])));
  }
}

void find_own_name(const HostCard& card, std::vector<HostFinding>& findings) {
  if (card.own_address.empty()) {
    findings.push_back({card.host, "own_name",
                        fmt::format("its own name {} does not resolve there: Gloo and Paddle "
                                    "cannot find their own address; add it to /etc/hosts",
                                    card.own_name)});
  } else if (is_loopback(card.own_address)) {
    findings.push_back(
        {card.host, "own_name",
         fmt::format("its own name {} resolves to {} there: Gloo, Paddle and MPI may offer that "
                     "address to the others; give the name its network address in /etc/hosts",
                     card.own_name, card.own_address)});
  }
}

// As seen by all other hosts: a name's own host may well see loopback.
void find_other_names(const std::vector<HostCard>& cards, std::vector<HostFinding>& findings) {
  for (const HostCard& named : cards) {
    std::map<std::string, std::vector<std::string>> seen;  // address -> by whom
    for (const HostCard& card : cards) {
      const auto found = card.addresses.find(plain_host(named.host));
      if (&card != &named && found != card.addresses.end()) {
        seen[found->second].push_back(card.host);
      }
    }
    for (const auto& [address, by] : seen) {
      if (address.empty()) {
        findings.push_back(
            {named.host, "name",
             fmt::format("its name does not resolve on {}: name the hosts by address, "
                         "or add it to /etc/hosts there",
                         join(by, ", "))});
      } else if (is_loopback(address)) {
        findings.push_back({named.host, "name",
                            fmt::format("its name resolves to {} on {}", address, join(by, ", "))});
      }
    }
    seen.erase("");
    if (seen.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [address, by] : seen) parts.push_back(address + " on " + join(by, ", "));
    findings.push_back({named.host, "name",
                        "its name resolves differently: " + join(parts, "; ") +
                            ": ranks may meet on different networks or not at all"});
  }
}

void find_duplicates(const std::vector<HostCard>& cards, std::vector<HostFinding>& findings) {
  std::map<std::string, std::vector<std::string>> owners;  // "docker0 172.17.0.1" -> hosts
  std::map<std::string, std::string> name_of;
  for (const HostCard& card : cards) {
    for (const Nic& nic : card.nics) {
      owners[nic.address].push_back(card.host);
      name_of[nic.address] = nic.name;
    }
    std::map<std::string, std::set<std::string>> networks;
    for (const Nic& nic : card.nics) networks[nic.network()].insert(nic.name);
    for (const auto& [network, names] : networks) {
      if (names.size() < 2) continue;
      findings.push_back(
          {card.host, "two_interfaces",
           fmt::format("{} lie both in {}: the kernel sends all through one of them, "
                       "and NCCL_SOCKET_IFNAME has no effect on that",
                       join({names.begin(), names.end()}, " and "), network)});
    }
  }
  for (const auto& [address, hosts] : owners) {
    if (hosts.size() < 2) continue;
    findings.push_back(
        {"", "duplicate_address",
         fmt::format("{} {} is on {} alike: none of them reaches another by it; keep "
                     "NCCL, Gloo and MPI off {}",
                     name_of[address], address, join(hosts, ", "), name_of[address])});
  }
}

}  // namespace

std::vector<FlatConfig> comparable_hosts(const std::vector<HostCard>& cards) {
  std::vector<FlatConfig> configs;
  std::vector<double> memory, shm;
  for (const HostCard& card : cards) {
    configs.push_back(facts_of(card));
    memory.push_back(card.machine.memory.limit_bytes.value_or(0));
    shm.push_back(static_cast<double>(card.machine.memory.shm_bytes.value_or(0)));
  }
  put_sizes("host.memory", memory, configs);
  put_sizes("host.shm", shm, configs);
  return configs;
}

std::vector<HostFinding> name_findings(const std::vector<HostCard>& cards) {
  std::vector<HostFinding> findings;
  for (const HostCard& card : cards) find_own_name(card, findings);
  find_other_names(cards, findings);
  find_duplicates(cards, findings);
  return findings;
}

std::vector<HostFinding> clock_findings(const std::vector<ClockReading>& readings) {
  std::vector<HostFinding> findings;
  for (const ClockReading& reading : readings) {
    // The reading is known to half of a round trip: only what lies beyond is told.
    if (std::fabs(reading.ahead_seconds) < kClockSeconds + reading.error_seconds) continue;
    findings.push_back(
        {reading.host, "clock",
         fmt::format("its clock is {:.1f} s {} this one: logs of the hosts cannot be compared, and "
                     "tokens or checkpoints may look expired; start chrony or ntpd there",
                     std::fabs(reading.ahead_seconds),
                     reading.ahead_seconds > 0 ? "ahead of" : "behind")});
  }
  return findings;
}

}  // namespace ocrtune
