// The rows of the extra `hosts`, and what --hosts does in the commands that have it.
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/engine_commands.h"
#include "cli/extras.h"
#include "cli/hosts_door.h"
#include "cli/shell/progress.h"
#include "extras/consistency/commands/check_command.h"
#include "extras/hosts/agent.h"
#include "extras/hosts/commands/job_hosts.h"
#include "extras/hosts/host_attempt.h"
#include "extras/hosts/reports/hosts_page.h"
#include "extras/hosts/reports/hosts_text.h"
#include "extras/supervise/commands/run_command.h"
#include "reports/catalogue/extra_reports.h"
#include "reports/catalogue/phrases.h"
#include "trial/workloads/engine_parts.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {
namespace {

Result<HostNames> names_of(const HostFlags& flags) {
  const HostChoice choice = OCRTUNE_TRY(choose_hosts(flags));
  HostNames found{{}, launcher_name(choice.options.launcher)};
  for (const HostName& host : choice.hosts) found.names.push_back(host.name);
  return found;
}

Result<HostSurvey> survey_of(const HostFlags& flags, const CardRequest& request, bool quiet) {
  const HostChoice choice = OCRTUNE_TRY(choose_hosts(flags));
  const WorkLine line("asking " + how_many(choice.hosts.size(), "host"), quiet);
  return survey_hosts(choice.hosts, choice.options, request);
}

Result<int> probe_hosts(const HostFlags& flags, bool quick, bool json) {
  CardRequest request;
  request.quick = quick;
  const HostSurvey survey = OCRTUNE_TRY(survey_of(flags, request, json));
  std::fputs((json ? hosts_json(survey) : hosts_text(survey)).c_str(), stdout);
  if (survey.cards.empty()) return kExitEnvironment;
  return survey.complete() ? kExitOk : kExitNegative;
}

Result<HostConfigs> configs_of(const HostFlags& flags, const ConfigRequest& request) {
  CardRequest card;
  card.quick = true;
  card.python = request.python;
  card.configs = request.paths;
  const HostSurvey survey = OCRTUNE_TRY(survey_of(flags, card, request.quiet));
  for (const LostHost& lost : survey.lost) {
    return Error{ErrorKind::missing, lost.host + ": " + lost.reason};
  }
  HostConfigs found;
  for (const HostCard& host : survey.cards) {
    found.configs.push_back(host.config);
    found.configs.back().name = host.host;
    for (const std::string& note : host.notes) found.notes.push_back(host.host + ": " + note);
  }
  return found;
}

// All hosts that are opened in this program are JobHosts.
AttemptRunner attempts_of(const std::shared_ptr<OpenHosts>& hosts, double patience_seconds,
                          std::function<void(const std::string&)> on_wait) {
  return attempts_on(static_cast<const JobHosts&>(*hosts).agents(),
                     {patience_seconds, std::move(on_wait)});
}

// Phrases of hosts_page.cpp; those that other pages have too stand in reports/catalogue.
const std::vector<Phrase>& hosts_table() {
  static const std::vector<Phrase> kTable = {
      {"Links between hosts", "主机间链路"},
      {"lines/s of the same step", "同一计算步的速度（行/秒）"},
      {"What was found", "发现的问题"},
  };
  return kTable;
}

// The agent on a host of probe --hosts.
CommandRun declare_node(Flags&) {
  return []() -> Result<int> {
    // With the engine, where it is: hosts are compared by a step of its training.
    if (engine_is_elsewhere()) return engine_elsewhere();
    return run_agent(program_version());
  };
}

constexpr HostsDoor kDoor = {names_of, JobHosts::open, probe_hosts};

}  // namespace

Extra hosts_extra() {
  set_host_configs(configs_of);
  set_host_attempts(attempts_of);
  return {{{"infer-worker",
            {"node", kHidden, "Answer for this host; started by probe --hosts, not by hand",
             "ocrtune probe --hosts a,b", "", declare_node}}},
          &kDoor};
}

ExtraReports hosts_reports() {
  return {
      hosts_table,
      {{"probe --hosts", {"links", "speeds"}, {"survey", "Links between hosts"}, survey_section}}};
}

}  // namespace ocrtune
