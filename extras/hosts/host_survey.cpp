// The order: clocks, cards, and then what loads the hosts, speeds before links. A slow host is
// measured twice before it is named.
#include "extras/hosts/host_survey.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/stats.h"
#include "extras/hosts/agent_messages.h"
#include "extras/hosts/network_probe.h"
#include "extras/hosts/seeded_step.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

constexpr double kCardSeconds = 75;  // a minute is Python's for its packages
// Windows are of steps as they come: ten times their aim (guess).
constexpr double kStepSeconds = 10 * kStepWindows * kStepWindowSeconds;

std::vector<AgentRequest> to_all(const Agents& agents, const std::string& body) {
  std::vector<AgentRequest> requests;
  for (const std::size_t host : agents.living()) requests.push_back({host, body});
  return requests;
}

Status ask_clocks(Agents& agents, std::vector<HostFinding>& findings) {
  const auto requests = to_all(agents, R"({"ask": "clock"})");
  const double before = wall_seconds();
  const auto replies = OCRTUNE_TRY(agents.ask(requests, 0));
  // All replies are awaited: the slowest host bounds the error of all readings.
  const double after = wall_seconds();
  std::vector<ClockReading> readings;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const double theirs = message_field(parse_message(replies[i]), "unix_seconds", 0.0);
    if (theirs <= 0) continue;
    readings.push_back({agents.hosts()[requests[i].host].name, theirs - (before + after) / 2,
                        (after - before) / 2});
  }
  for (HostFinding& finding : clock_findings(readings)) findings.push_back(std::move(finding));
  return Status();
}

Status ask_cards(Agents& agents, const CardRequest& request, HostSurvey& survey) {
  const auto requests = to_all(agents, card_request_json(request));
  const auto replies = OCRTUNE_TRY(agents.ask(requests, kCardSeconds));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (replies[i].empty()) continue;  // lost
    const std::string& name = agents.hosts()[requests[i].host].name;
    auto card = parse_host_card(replies[i]);
    if (card) {
      card->host = name;
      survey.cards.push_back(std::move(*card));
    } else {
      survey.lost.push_back(
          {name, message_field(parse_message(replies[i]), "error", card.error().what)});
    }
  }
  return Status();
}

std::vector<std::size_t> agents_of(const Agents& agents, const HostSurvey& survey) {
  std::vector<std::size_t> all;
  for (const HostCard& card : survey.cards) {
    const auto& hosts = agents.hosts();
    all.push_back(static_cast<std::size_t>(
        std::find_if(hosts.begin(), hosts.end(),
                     [&](const HostName& host) { return host.name == card.host; }) -
        hosts.begin()));
  }
  return all;
}

Result<std::vector<HostRates>> measure_steps(Agents& agents, const HostSurvey& survey) {
  const std::vector<std::size_t> agent_of = agents_of(agents, survey);
  std::vector<AgentRequest> requests;
  for (const std::size_t agent : agent_of) {
    requests.push_back({agent, Json{{"ask", "step"}, {"threads", survey.step_threads}}.dump()});
  }
  const auto replies = OCRTUNE_TRY(agents.ask(requests, kStepSeconds));
  std::vector<HostRates> rates;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto measured = message_field(parse_message(replies[i]), "rates", std::vector<double>());
    if (!measured.empty()) rates.push_back({survey.cards[i].host, std::move(measured)});
  }
  return rates;
}

std::vector<std::string> slow_names(const std::vector<HostRates>& rates) {
  std::vector<std::string> names;
  for (const std::size_t i : slow_hosts(rates)) names.push_back(rates[i].host);
  return names;
}

double share(double own, std::vector<double> all) {
  std::erase(all, 0.0);
  return all.empty() || own <= 0 ? 1 : own / median(all);
}

// What of a slow host is slow, by what its own card measured.
std::string why_slow(const HostCard& slow, const std::vector<HostCard>& cards) {
  std::vector<double> cores, memory;
  for (const HostCard& card : cards) {
    cores.push_back(card.machine.cpu.core_multiply_adds_per_second.value_or(0));
    memory.push_back(card.machine.memory.bandwidth_bytes_per_second.value_or(0));
  }
  const double core = share(slow.machine.cpu.core_multiply_adds_per_second.value_or(0), cores);
  const double bandwidth =
      share(slow.machine.memory.bandwidth_bytes_per_second.value_or(0), memory);
  // Guesses: of the others' median, and CPUs of other programs.
  constexpr double kLess = 0.9, kBusyCpus = 0.3;
  if (slow.machine.cpu.external_cpus > kBusyCpus) {
    return fmt::format("other programs used {:.1f} of its CPUs", slow.machine.cpu.external_cpus);
  }
  if (core < kLess && core <= bandwidth) {
    return fmt::format("one core does {:.0f} % of the others' arithmetic (clock, power, quota)",
                       100 * core);
  }
  if (bandwidth < kLess) {
    return fmt::format("its memory gives {:.0f} % of the others' bandwidth", 100 * bandwidth);
  }
  return "neither one core nor memory alone is slower: look at its quota, cooling and neighbours";
}

Status measure_speeds(Agents& agents, HostSurvey& survey) {
  double least = 0;
  for (const HostCard& card : survey.cards) {
    const double cpus = card.machine.cpu.usable_cpus.value_or(1);
    least = least == 0 ? cpus : std::min(least, cpus);
  }
  // The same step everywhere: as many threads as the smallest host has CPUs.
  survey.step_threads = std::max(1, static_cast<int>(least));
  const auto rates = OCRTUNE_TRY(measure_steps(agents, survey));
  std::vector<std::string> slow = slow_names(rates);
  if (!slow.empty()) {
    const auto again = OCRTUNE_TRY(measure_steps(agents, survey));
    const std::vector<std::string> still = slow_names(again);
    // Slow both times: a neighbour's burst is gone by the second one.
    std::erase_if(slow, [&](const std::string& name) {
      return std::find(still.begin(), still.end(), name) == still.end();
    });
  }
  for (const HostRates& one : rates) {
    const bool is_slow = std::find(slow.begin(), slow.end(), one.host) != slow.end();
    survey.speeds.push_back({one.host, median(one.rates), is_slow});
    if (!is_slow) continue;
    const auto card = std::find_if(survey.cards.begin(), survey.cards.end(),
                                   [&](const HostCard& each) { return each.host == one.host; });
    survey.findings.push_back(
        {one.host, "slow_host",
         fmt::format("does the same step at {:.0f} % of the others' rate, twice: the slowest rank "
                     "sets the pace of all; {}",
                     100 * median(one.rates) / usual_rate(rates), why_slow(*card, survey.cards))});
  }
  return Status();
}

}  // namespace

Status survey_links(Agents& agents, HostSurvey& survey) {
  survey.links = OCRTUNE_TRY(measure_network(agents, survey.cards, agents_of(agents, survey)));
  survey.network = judge_network(survey.cards, survey.links);
  for (const HostFinding& finding : survey.network.findings) survey.findings.push_back(finding);
  if (survey.network.network.empty()) {
    survey.findings.push_back(
        {"", "no_network", "no network joins all hosts: a run over all of them cannot start"});
  }
  return Status();
}

Result<HostSurvey> survey_agents(Agents& agents, CardRequest request) {
  HostSurvey survey;
  for (const HostName& host : agents.hosts()) request.names.push_back(plain_host(host.name));
  OCRTUNE_TRY(ask_clocks(agents, survey.findings));
  OCRTUNE_TRY(ask_cards(agents, request, survey));
  if (!request.quick && survey.cards.size() > 1) {
    OCRTUNE_TRY(measure_speeds(agents, survey));
    OCRTUNE_TRY(survey_links(agents, survey));
  }
  for (std::size_t i = 0; i < agents.hosts().size(); ++i) {
    if (!agents.alive(i)) survey.lost.push_back({agents.hosts()[i].name, agents.lost_reason(i)});
  }
  for (HostFinding& finding : name_findings(survey.cards)) {
    survey.findings.push_back(std::move(finding));
  }
  if (survey.cards.size() > 1) {
    survey.consistency = OCRTUNE_TRY(compare_configs(comparable_hosts(survey.cards), {}));
  }
  return survey;
}

Result<HostSurvey> survey_hosts(const std::vector<HostName>& hosts, const AgentOptions& options,
                                CardRequest request) {
  const auto agents = OCRTUNE_TRY(Agents::start(hosts, options));
  auto survey = OCRTUNE_TRY(survey_agents(*agents, std::move(request)));
  survey.launcher = launcher_name(options.launcher);
  return survey;
}

}  // namespace ocrtune
