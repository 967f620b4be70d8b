// Opening asks all hosts for quick cards and refuses to begin with fewer than all. To the session
// they are one machine, the smallest of them, and a runner that goes through the agents.
#include "extras/hosts/commands/job_hosts.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/shell/terminal.h"
#include "extras/hosts/agent_messages.h"
#include "extras/hosts/job_runner.h"
#include "extras/hosts/reports/hosts_text.h"
#include "probes/host/machine_lock.h"
#include "probes/host/nics.h"
#include "probes/placement/partition.h"
#include "trial/workloads/command/command_prepare.h"
#include "tuner/job/job_workload.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {
namespace {

// The host with the fewest CPUs, and no more memory than any other has.
Machine smallest_machine(const std::vector<HostCard>& cards) {
  const auto fewest =
      std::min_element(cards.begin(), cards.end(), [](const auto& a, const auto& b) {
        return usable_cpu_count(a.machine.cpu) < usable_cpu_count(b.machine.cpu);
      });
  Machine machine = fewest->machine;
  for (const HostCard& card : cards) {
    const auto& memory = card.machine.memory;
    const double limit = memory.limit_bytes.value_or(0);
    if (limit > 0 && limit < machine.memory.limit_bytes.value_or(limit + 1)) {
      machine.memory.limit_bytes = memory.limit_bytes;
    }
    machine.memory.available_bytes =
        std::min(machine.memory.available_bytes, memory.available_bytes);
  }
  return machine;
}

std::vector<std::string> notes_of(const HostSurvey& survey) {
  std::vector<std::string> notes;
  for (const HostFinding& finding : survey.findings) {
    notes.push_back((finding.host.empty() ? "" : finding.host + ": ") + finding.text);
  }
  std::vector<std::string> keys;
  for (const ConfigDifference& difference : survey.consistency.differences) {
    keys.push_back(difference.key);
  }
  if (!keys.empty()) {
    notes.push_back(
        fmt::format("the hosts differ in {}: `ocrtune probe --hosts` says how", join(keys, ", ")));
  }
  return notes;
}

}  // namespace

Result<HostChoice> choose_hosts(const HostFlags& flags) {
  const Environment environment = process_environment();
  HostChoice choice;
  choice.hosts = OCRTUNE_TRY(resolve_hosts(flags.hosts, environment));
  choice.options.launcher =
      OCRTUNE_TRY(choose_launcher(flags.launcher, environment, [](const std::string& name) {
        return find_executable(name).ok();
      }));
  const auto deadline = parse_duration(flags.deadline);
  if (!deadline) return Error{ErrorKind::usage, "--host-timeout: " + deadline.error().what};
  choice.options.deadline_seconds = *deadline;
  choice.options.program = own_program();
  choice.options.version = program_version();
  return choice;
}

// By their names: two launchers that wait for each other's hosts would wait for ever.
Status JobHosts::take_turns(bool no_wait) {
  constexpr double kLookSeconds = 1;
  std::vector<std::size_t> order(agents_->hosts().size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return agents_->hosts()[i].name; });
  const std::string ask = json_line({{"ask", "turn"}, {"launcher_boot", boot_id()}});
  std::set<std::string> taken;  // a machine may have several names
  const double end = steady_clock().now_seconds() + kMaxTurnSeconds;
  for (const std::size_t host : order) {
    for (bool told = false;;) {
      const auto reply = parse_message(OCRTUNE_TRY(agents_->ask({{host, ask}}, 0))[0]);
      const std::string& name = agents_->hosts()[host].name;
      const auto error = message_field<std::string>(reply, "error", "");
      if (!error.empty()) return Error{ErrorKind::failed, name + ": " + error};
      const auto holder = message_field<std::string>(reply, "holder", "");
      const auto boot = message_field<std::string>(reply, "boot", "");  // empty: unknown
      if (holder.empty() && !boot.empty()) taken.insert(boot);
      // Free, or held by this job itself under another name of the same machine.
      if (holder.empty() || taken.contains(boot)) break;
      if (no_wait) {
        return Error{
            ErrorKind::exhausted,
            fmt::format("{}: {} is measuring there; try again after its end", name, holder)};
      }
      if (!std::exchange(told, true)) {
        say_line(fmt::format("waiting: {}: {} is measuring there (--no-wait fails instead)", name,
                             holder));
      }
      if (steady_clock().now_seconds() >= end) return waited_too_long(name + ": " + holder);
      steady_clock().sleep_seconds(kLookSeconds);
    }
  }
  return Status();
}

Status JobHosts::measure_links() {
  if (survey_.cards.size() < 2) return Status();
  OCRTUNE_TRY(survey_links(*agents_, survey_));
  machine_.links = link_lines(survey_);
  notes_ = notes_of(survey_);
  return Status();
}

SessionDoors JobHosts::doors() const {
  SessionDoors doors;
  // All hosts were asked already; a probe of this one would say nothing of them.
  doors.probe = [here = machine_](const ProbeOptions&) -> Result<Machine> { return here; };
  doors.runner = [asked = agents_](const Job& job, const SearchRequest& search,
                                   const Machine& here) -> Result<std::unique_ptr<Runner>> {
    const JobRunnerOptions runner = {
        asked, [](const std::string& note) { say_line("ocrtune: note: " + note); }};
    const auto prepared = OCRTUNE_TRY(prepared_command(user_command(job, search), here));
    return make_job_runner(runner, prepared, here);
  };
  return doors;
}

Result<std::unique_ptr<OpenHosts>> JobHosts::open(const HostFlags& flags) {
  const HostChoice choice = OCRTUNE_TRY(choose_hosts(flags));
  for (const HostName& host : choice.hosts) {
    // Ranks on the others would connect to themselves.
    const bool local = plain_host(host.name) == "localhost" || is_loopback(plain_host(host.name));
    if (choice.hosts.size() == 1 || !local) continue;
    return Error{ErrorKind::usage, fmt::format("--hosts {}: the other hosts cannot reach it by "
                                               "that name; give the one that they know it by",
                                               host.name)};
  }
  auto job = std::make_unique<JobHosts>();
  job->agents_ = OCRTUNE_TRY(Agents::start(choice.hosts, choice.options));
  CardRequest request;
  request.quick = true;
  job->survey_ = OCRTUNE_TRY(survey_agents(*job->agents_, request));
  if (!job->survey_.lost.empty()) {
    std::vector<std::string> lost;
    for (const LostHost& one : job->survey_.lost) lost.push_back(one.host + ": " + one.reason);
    return Error{ErrorKind::missing, "--hosts: " + join(lost, "; ")};
  }
  job->machine_ = smallest_machine(job->survey_.cards);
  job->notes_ = notes_of(job->survey_);
  return std::unique_ptr<OpenHosts>(std::move(job));
}

}  // namespace ocrtune
