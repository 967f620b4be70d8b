// Many hosts are grouped by what they have in common, values and environment lines alike, so that a
// hundred of them still fit a screen.
#include "extras/hosts/reports/hosts_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "base/stats.h"
#include "base/text.h"
#include "probes/machine/machine_json.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxNames = 6;

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= kMaxNames) return join(names, ", ");
  return fmt::format("{}, ... ({} hosts)", join({names.begin(), names.begin() + kMaxNames}, ", "),
                     names.size());
}

// The value of the most hosts last: the odd one out is what one looks for.
std::string difference_text(const ConfigDifference& difference) {
  std::map<std::string, std::vector<std::string>> hosts;  // by value
  for (const auto& [host, value] : difference.values) hosts[value].push_back(host);
  std::vector<std::pair<std::string, std::vector<std::string>>> rows(hosts.begin(), hosts.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::string text = difference.key + "\n";
  for (const auto& [value, names] : rows) {
    text += fmt::format("  {}: {}\n", names_text(names), value);
  }
  return text + "  effect: " + difference.effect + "\n";
}

std::string host_line(const HostCard& card, std::size_t width) {
  const Machine& machine = card.machine;
  const double cpus = machine.cpu.usable_cpus.value_or(0);
  std::string text =
      fmt::format("  {:<{}}  {:.4g} {}", card.host, width, cpus, noun_after(cpus, "CPU"));
  if (!machine.cpu.model.empty()) text += " of " + machine.cpu.model;
  if (machine.memory.limit_bytes.known()) {
    text += ", " + format_bytes(static_cast<std::uint64_t>(*machine.memory.limit_bytes.value));
  }
  std::map<std::string, int> gpus;
  for (const GpuFacts& gpu : machine.gpus) ++gpus[gpu.name];
  for (const auto& [name, count] : gpus) text += fmt::format(", {} x {}", count, name);
  std::vector<std::string> nics;
  for (const Nic& nic : card.nics) nics.push_back(nic.name + " " + nic.address);
  return text + (nics.empty() ? "" : ", " + join(nics, ", ")) + "\n";
}

std::string mbit_text(double bytes_per_second) {
  return fmt::format("{:.0f} Mbit/s", bytes_per_second * 8e-6);
}

std::string speeds_text(const HostSurvey& survey) {
  if (survey.speeds.empty()) return "";
  std::string text =
      fmt::format("\nThe same training step, {}\n", how_many(survey.step_threads, "thread"));
  for (const HostSpeed& speed : survey.speeds) {
    text += fmt::format("  {}: {:.1f} lines/s{}\n", speed.host, speed.lines_per_second,
                        speed.slow ? ", slow" : "");
  }
  return text;
}

std::string network_text(const HostSurvey& survey) {
  std::string text;
  if (!survey.links.empty()) text += "\nNetwork, one way\n";
  for (const std::string& line : link_lines(survey)) text += "  " + line + "\n";
  if (survey.network.network.empty()) return text;
  text += fmt::format("\nUse {}, {} at least\n", survey.network.network,
                      mbit_text(survey.network.bytes_per_second));
  std::map<std::string, std::vector<std::string>> hosts;  // by their lines
  for (std::size_t i = 0; i < survey.cards.size(); ++i) {
    std::string lines;
    for (const auto& [name, value] : survey.network.env[i]) {
      lines += fmt::format("    export {}={}\n", name, value);
    }
    hosts[lines].push_back(survey.cards[i].host);
  }
  for (const auto& [lines, names] : hosts) {
    text += fmt::format("  on {}\n{}", names_text(names), lines);
  }
  return text;
}

std::vector<ConfigDifference> machine_rows(const HostSurvey& survey) {
  std::vector<ConfigDifference> rows = survey.consistency.differences;
  for (const ConfigDifference& local : survey.consistency.local) {
    // Machines are what this command is about: their differences are shown even where training
    // bears them.
    if (starts_with(local.key, "host.")) rows.push_back(local);
  }
  return rows;
}

Json json_of(const ConfigDifference& difference) {
  Json values = Json::object();
  for (const auto& [host, value] : difference.values) values[host] = valid_utf8(value);
  return {{"key", difference.key}, {"values", values}, {"effect", difference.effect}};
}

Json links_json(const HostSurvey& survey) {
  Json links = Json::array();
  for (const Link& link : survey.links) {
    links.push_back({{"from", survey.cards[link.from].host},
                     {"to", survey.cards[link.to].host},
                     {"network", link.network},
                     {"from_interface", link.from_nic},
                     {"to_interface", link.to_nic},
                     {"to_address", link.to_address},
                     {"latency_seconds", link.latency_seconds},
                     {"bytes_per_second", link.bytes_per_second},
                     {"error", valid_utf8(link.error)}});
  }
  return links;
}

Json network_json(const HostSurvey& survey) {
  if (survey.network.network.empty()) return nullptr;
  Json env = Json::object();
  for (std::size_t i = 0; i < survey.cards.size(); ++i) {
    Json of_host = Json::object();
    for (const auto& [name, value] : survey.network.env[i]) of_host[name] = value;
    env[survey.cards[i].host] = of_host;
  }
  return {{"network", survey.network.network},
          {"bytes_per_second", survey.network.bytes_per_second},
          {"env", env}};
}

}  // namespace

std::vector<std::string> link_lines(const HostSurvey& survey) {
  constexpr std::size_t kMaxLinks = 24;
  std::vector<std::string> lines;
  std::map<std::string, std::vector<double>> rates;
  for (const Link& link : survey.links) {
    const bool ok = link.error.empty();
    if (ok) rates[link.network].push_back(link.bytes_per_second);
    if (survey.links.size() > kMaxLinks) continue;
    lines.push_back(fmt::format("{} to {} ({}, {}): {}", survey.cards[link.from].host,
                                survey.cards[link.to].host, link.to_nic, link.network,
                                ok ? fmt::format("{}, {:.0f} us", mbit_text(link.bytes_per_second),
                                                 1e6 * link.latency_seconds)
                                   : link.error));
  }
  if (survey.links.size() <= kMaxLinks) return lines;
  for (const auto& [network, all] : rates) {
    lines.push_back(fmt::format("{}: {} links, {} at the median, {} the slowest", network,
                                all.size(), mbit_text(median(all)),
                                mbit_text(*std::min_element(all.begin(), all.end()))));
  }
  return lines;
}

std::string hosts_text(const HostSurvey& survey) {
  const std::size_t all = survey.cards.size() + survey.lost.size();
  std::string text = fmt::format("{} of {} answered by {}\n", survey.cards.size(),
                                 how_many(all, "host"), survey.launcher);
  for (const LostHost& lost : survey.lost)
    text += fmt::format("  {}: {}\n", lost.host, lost.reason);
  const auto rows = machine_rows(survey);
  if (survey.cards.size() > 1) {
    text += rows.empty() ? "\nNo differences\n" : "\nDifferences\n";
    for (const ConfigDifference& row : rows) text += difference_text(row);
  }
  if (!survey.findings.empty()) text += "\nFindings\n";
  for (const HostFinding& finding : survey.findings) {
    text += fmt::format("  {}{}{}\n", finding.host, finding.host.empty() ? "" : ": ", finding.text);
  }
  text += speeds_text(survey) + network_text(survey);
  std::size_t width = 0;
  for (const HostCard& card : survey.cards) width = std::max(width, card.host.size());
  if (!survey.cards.empty()) text += "\nHosts\n";
  for (const HostCard& card : survey.cards) text += host_line(card, width);
  return text;
}

std::string hosts_json(const HostSurvey& survey) {
  Json hosts = Json::array(), lost = Json::array(), findings = Json::array();
  for (const HostCard& card : survey.cards) {
    Json nics = Json::array();
    for (const Nic& nic : card.nics) {
      nics.push_back({{"name", nic.name},
                      {"address", nic.address},
                      {"network", nic.network()},
                      {"mtu", nic.mtu},
                      {"speed_mbit", nic.speed_mbit},
                      {"driver", nic.driver}});
    }
    hosts.push_back({{"host", card.host},
                     {"interfaces", nics},
                     {"notes", card.notes},
                     {"machine", Json::parse(machine_json(card.machine, -1))}});
  }
  for (const LostHost& one : survey.lost) {
    lost.push_back({{"host", one.host}, {"reason", valid_utf8(one.reason)}});
  }
  for (const HostFinding& one : survey.findings) {
    findings.push_back({{"host", one.host}, {"kind", one.kind}, {"text", valid_utf8(one.text)}});
  }
  Json differences = Json::array(), local = Json::array();
  for (const auto& one : survey.consistency.differences) differences.push_back(json_of(one));
  for (const auto& one : survey.consistency.local) local.push_back(json_of(one));
  Json speeds = Json::array();
  for (const HostSpeed& one : survey.speeds) {
    speeds.push_back(
        {{"host", one.host}, {"lines_per_second", one.lines_per_second}, {"slow", one.slow}});
  }
  const Json document = {{"launcher", survey.launcher},
                         {"lost", lost},
                         {"differences", differences},
                         {"local", local},
                         {"findings", findings},
                         {"speeds", speeds},
                         {"step_threads", survey.step_threads},
                         {"links", links_json(survey)},
                         {"recommended_network", network_json(survey)},
                         {"hosts", hosts}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
