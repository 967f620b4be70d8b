// One trial over hosts: a place to meet, a request to each agent, and a watch until every host has
// answered or is given up. The first host reads the speed and says when it is measured; then all
// are told to end.
#include "extras/hosts/job_runner.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "extras/hosts/agent_messages.h"
#include "extras/hosts/host_trial.h"
#include "probes/host/nics.h"
#include "trial/logs/lost_loss.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_runner.h"

namespace ocrtune {
namespace {

constexpr const char* kHostLost = "host_lost";
constexpr double kLeaveAloneSeconds = 30;  // a host that does not come back
constexpr double kSettleSeconds = 3;  // a host whose command ended waits for the first host's word
constexpr double kOrphanSeconds = 1;  // of an agent that lost its launcher, beyond the grace
constexpr double kEndSeconds = 15;    // beyond the command's grace and its cleanup

Trial failure(Outcome outcome, std::string cause, std::string reason) {
  Trial trial;
  trial.outcome = outcome;
  trial.cause = std::move(cause);
  trial.reason = std::move(reason);
  return trial;
}

void pause_until(double seconds) {
  while (steady_seconds() < seconds && !interrupted()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

class JobRunner : public Runner {
 public:
  JobRunner(const JobRunnerOptions& options, PreparedCommand command, const Machine& machine)
      : agents_(options.agents),
        tell_(options.tell),
        command_(std::move(command)),
        machine_(machine),
        next_start_(agents_->hosts().size(), 0) {}

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    const double start = steady_seconds();
    Trial trial = try_once(knobs, limits);
    if (ran_ && trial.cause == kHostLost && !interrupted()) {
      if (tell_) tell_(trial.reason + "; its trial is run once more");
      std::string evidence = "run once more after: " + trial.reason;
      // What the lost agent started ends with it, and must not meet what comes next.
      pause_until(steady_seconds() + command_.workload.stop_grace_seconds + kOrphanSeconds);
      trial = try_once(knobs, limits);
      trial.evidence.push_back(std::move(evidence));
    }
    trial.seconds = steady_seconds() - start;
    trial.knobs = knobs;
    loss_gate_.judge(trial, command_.workload.is_present(knobs));
    if (trial.reproduce.empty()) {
      trial.reproduce = join(dry_run_lines(command_, machine_, knobs), " && ");
    }
    return trial;
  }

 private:
  // Of the first `nodes` hosts the first that is lost and stays so; empty: all are there.
  std::string lost_host(std::size_t nodes) {
    for (std::size_t i = 0; i < nodes; ++i) {
      if (agents_->alive(i)) continue;
      pause_until(next_start_[i]);
      if (!agents_->restart(i)) return host_name(i) + ": interrupted";
      next_start_[i] = agents_->alive(i) ? 0 : steady_seconds() + kLeaveAloneSeconds;
      if (!agents_->alive(i)) return host_name(i) + ": " + agents_->lost_reason(i);
    }
    return "";
  }

  Trial try_once(const Knobs& knobs, const TrialLimits& limits) {
    ran_ = false;
    const auto refusal = command_.refuse ? command_.refuse(knobs) : std::nullopt;
    if (refusal) return failure(refusal->outcome, refusal->cause, refusal->reason);
    const auto& hosts = agents_->hosts();
    const auto nodes = static_cast<std::size_t>(nodes_of(knobs));
    if (nodes > hosts.size()) {
      return failure(Outcome::unsupported, "nodes",
                     fmt::format("nodes={}: --hosts names {}", nodes, hosts.size()));
    }
    if (std::string lost = lost_host(nodes); !lost.empty()) {
      return failure(Outcome::skipped, kHostLost, std::move(lost));  // it says nothing of a setting
    }
    const auto places = meeting_places(*agents_, static_cast<int>(nodes));
    begin_parts(nodes);
    for (std::size_t i = 0; i < nodes; ++i) agents_->send({i, request(places[i], knobs, limits)});
    ran_ = true;
    // Each line of the cleanup may take as long as one of the setup.
    const auto cleanups = static_cast<double>(command_.workload.cleanup.size());
    watch(command_.workload.stop_grace_seconds + kEndSeconds + kSetupSeconds * cleanups);
    Trial merged = merge_parts(std::move(parts_));
    if (interrupted()) return failure(Outcome::skipped, "interrupted", "interrupted");
    return merged;
  }

  const std::string& host_name(std::size_t host) const { return agents_->hosts()[host].name; }

  std::string request(const TrialPlace& place, const Knobs& knobs,
                      const TrialLimits& limits) const {
    HostTrial part;
    part.workload = command_.workload;
    part.print_interval = command_.print_interval;
    part.knobs = knobs;
    part.limits = limits;
    part.place = place;
    part.guards = part.follows() && starts_other_hosts(command_.workload);
    return host_trial_json(part);
  }

  void begin_parts(std::size_t count) {
    parts_.assign(count, {});
    answered_ = 0;
    for (std::size_t i = 0; i < count; ++i) parts_[i].host = host_name(i);
  }

  bool open(std::size_t host) const { return parts_[host].order == 0; }

  // Ends with an answer, or a reason, of every host.
  void watch(double grace_seconds) {
    double settled = -1, told = -1;
    while (answered_ < static_cast<int>(parts_.size())) {
      agents_->listen();
      const bool fatal = take_answers();
      if (answered_ > 0 && settled < 0) settled = steady_seconds() + kSettleSeconds;
      // Any of these ends the trial everywhere: a failure, Ctrl-C, the speed, or that the first
      // host is done.
      const bool over = fatal || interrupted() || agents_->take_event(0, "measured") || !open(0) ||
                        (settled > 0 && steady_seconds() > settled);
      if (over && told < 0) {
        tell_all(R"({"tell": "end"})");
        told = steady_seconds();
      }
      if (told > 0 && steady_seconds() > told + grace_seconds) give_up();
    }
  }

  // The first host last: where it stops, the others lose their peer.
  void tell_all(const std::string& body) {
    for (std::size_t i = parts_.size(); i-- > 0;) {
      if (open(i)) agents_->send({i, body});
    }
  }

  // True if one of them is a failure, which ends the trial.
  bool take_answers() {
    bool fatal = false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!open(i)) continue;
      auto reply = agents_->take_reply(i);
      if (!reply && agents_->alive(i)) continue;
      AnsweredPart& part = parts_[i];
      part.order = ++answered_;
      if (reply) {
        part.trial = trial_of(*reply);
        fatal = fatal || (!part.trial.ok() && part.trial.cause != "ended" &&
                          part.trial.cause != "no_metric");
      } else {
        part.lost = fatal = true;
        part.trial = failure(Outcome::crashed, kHostLost, agents_->lost_reason(i));
      }
    }
    return fatal;
  }

  static Trial trial_of(const std::string& reply) {
    const auto problem = message_field<std::string>(parse_message(reply), "error", "");
    if (!problem.empty()) return failure(Outcome::crashed, "setting", problem);
    auto trial = parse_part(reply);
    return trial ? *std::move(trial) : failure(Outcome::crashed, "protocol", trial.error().what);
  }

  void give_up() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!open(i)) continue;
      parts_[i].order = ++answered_;
      parts_[i].lost = true;
      agents_->give_up(i, "does not end what it started");
      parts_[i].trial = failure(Outcome::crashed, kHostLost, agents_->lost_reason(i));
    }
  }

  std::shared_ptr<Agents> agents_;
  std::function<void(const std::string&)> tell_;
  PreparedCommand command_;
  Machine machine_;
  std::vector<double> next_start_;   // of an agent on each host that did not come back
  std::vector<AnsweredPart> parts_;  // of the trial under way, by host
  int answered_ = 0;
  bool ran_ = false;  // all hosts were there when it began
  LossGate loss_gate_;
};

}  // namespace

std::vector<TrialPlace> meeting_places(Agents& agents, int nodes) {
  const auto replies = agents.ask({{0, R"({"ask": "port"})"}}, 0);
  const FieldsJson meeting = replies ? parse_message((*replies)[0]) : FieldsJson();
  const int port = message_field(meeting, "port", 0);
  const auto address = message_field<std::string>(meeting, "address", "");
  std::vector<std::string> names;
  for (const HostName& one : agents.hosts()) names.push_back(one.name);
  std::vector<TrialPlace> places;
  for (int i = 0; i < nodes; ++i) {
    TrialPlace place = host_place(names, i, nodes);
    if (port > 0) place.master_port = fmt::format("{}", port);
    const bool chosen = is_address(plain_host(names.front()));  // by the user, among others
    if (nodes > 1 && !chosen && !address.empty() && !is_loopback(address)) {
      place.master_addr = address;
    }
    places.push_back(std::move(place));
  }
  return places;
}

std::unique_ptr<Runner> make_job_runner(const JobRunnerOptions& options,
                                        const PreparedCommand& command, const Machine& machine) {
  return std::make_unique<JobRunner>(options, command, machine);
}

}  // namespace ocrtune
