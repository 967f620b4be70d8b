// An attempt over hosts, seen from the launcher: parts are sent, output and status come as events,
// and ends are merged. Where one host fails the others get two seconds to fail by themselves, as
// their times tell the cause.
#include "extras/hosts/host_attempt.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/line_splitter.h"
#include "base/text.h"
#include "extras/hosts/agent_messages.h"
#include "extras/hosts/host_trial.h"
#include "extras/hosts/job_runner.h"
#include "trial/free_port.h"
#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

constexpr double kFailTogetherSeconds =
    2;  // hosts that fail at the same time are told apart by theirs
constexpr double kEndOnHostSeconds = 15;  // beyond the grace, to end and to tidy up
constexpr double kHostStatusEvery = 1;
constexpr double kSilenceSeconds = 300;  // of a host, before its training is given up
constexpr double kMaxWait = 30;          // between two tries to start an agent
constexpr double kSucceedSeconds = 10;   // beyond the leave of the agent that was there before
constexpr std::size_t kHostOutputBytes = 64 << 10;

constexpr auto kAttemptFields = [](auto& plan, const auto& visit) {
  visit("trial_dir", plan.trial_dir);
  visit("oom_score_adjust", plan.process.oom_score_adjust);
  OCRTUNE_VISIT(plan, stall_seconds, memory_limit_bytes, stop_grace_seconds, kept_paths);
};

AttemptEnd lost_end(std::string reason) {
  AttemptEnd end;
  end.stop = AttemptStop::host_lost;
  end.evidence.killed_why = std::move(reason);
  return end;
}

// The share that the run has of what its machine could give it, and its bytes.
std::pair<double, std::uint64_t> fullness(const AttemptStatus& status) {
  const auto bytes = static_cast<double>(status.bytes);
  return {bytes / std::max(1.0, bytes + static_cast<double>(status.available_bytes)), status.bytes};
}

// Of all hosts: the first one's progress, the memory of the fullest.
AttemptStatus merge_status(const std::vector<EndedPart>& parts) {
  AttemptStatus all = parts.front().end.last;
  all.processes = 0;
  for (const EndedPart& part : parts) {
    const AttemptStatus& own = part.end.last;
    all.seconds = std::max(all.seconds, own.seconds);
    if (fullness(own) > fullness(all)) {
      std::tie(all.bytes, all.available_bytes) = std::tie(own.bytes, own.available_bytes);
    }
    all.processes += own.processes;
    if (own.shm_bytes > all.shm_bytes) {
      std::tie(all.shm_bytes, all.shm_limit_bytes) = std::tie(own.shm_bytes, own.shm_limit_bytes);
    }
    if (own.open_files > all.open_files) {
      std::tie(all.open_files, all.open_files_limit) =
          std::tie(own.open_files, own.open_files_limit);
    }
    if (own.gpu_bytes > all.gpu_bytes) {
      std::tie(all.gpu_bytes, all.gpu_limit_bytes) = std::tie(own.gpu_bytes, own.gpu_limit_bytes);
    }
    for (const auto& [words, into] :
         {std::pair(&own.idle_gpus, &all.idle_gpus), std::pair(&own.stall, &all.stall)}) {
      if (!words->empty() && &part != &parts.front()) *into = part.host + ": " + *words;
    }
  }
  return all;
}

class HostAttempt {
 public:
  HostAttempt(Agents& agents, const AttemptPlan& plan, const AttemptListeners& listeners)
      : agents_(agents),
        plan_(plan),
        listeners_(listeners),
        nodes_(starts_other_hosts(plan.setting.workload)
                   ? 1
                   : static_cast<std::size_t>(nodes_of(plan.setting.knobs))),
        parts_(nodes_),
        lines_(nodes_),
        ended_(nodes_),
        start_errors_(nodes_) {
    for (std::size_t i = 0; i < nodes_; ++i) parts_[i].host = plain_host(agents.hosts()[i].name);
  }

  Result<AttemptEnd> run() {
    OCRTUNE_TRY(files_.open(plan_));
    started_ = last_output_ = steady_seconds();
    const auto places = meeting_places(agents_, nodes_of(plan_.setting.knobs));
    for (std::size_t i = 0; i < nodes_; ++i) agents_.send({i, request(i, places[i])});
    double failed = -1, told = -1, status_at = started_;
    while (std::count(ended_.begin(), ended_.end(), false) > 0) {
      agents_.listen();
      for (std::size_t i = 0; i < nodes_; ++i) take(i);
      if (failed < 0 && any_failed()) failed = steady_seconds();
      if (steady_seconds() - status_at >= kHostStatusEvery) {
        status_at = steady_seconds();
        tell_status();
      }
      stop_ = told < 0 ? reason_to_stop() : stop_;
      if (told < 0 && (stop_ != AttemptStop::none ||
                       (failed > 0 && steady_seconds() > failed + kFailTogetherSeconds))) {
        told = steady_seconds();
        tell_end();
      }
      if (told > 0 && steady_seconds() > told + plan_.stop_grace_seconds + kEndOnHostSeconds)
        give_up();
    }
    if (start_error() == nullptr || stop_ == AttemptStop::interrupted) return merged();
    files_.finish();
    return *start_error();
  }

 private:
  static bool has_failed(const EndedPart& part) {
    return !part.end.clean() && part.end.stop != AttemptStop::interrupted;
  }

  std::string request(std::size_t host, const TrialPlace& place) const {
    HostTrial part;
    part.workload = plan_.setting.workload;
    if (part.workload.directory.empty()) part.workload.directory = real_path(".").value_or("");
    part.knobs = plan_.setting.knobs;
    part.place = place;
    FieldsJson json = FieldsJson::parse(host_trial_json(part));
    json["ask"] = "attempt";
    json["run"] = agents_.run_key(host);
    json["plan"] = FieldsJson::parse(json_line(fields_json(kAttemptFields, plan_)));
    return json.dump();
  }

  void take(std::size_t host) {
    while (const auto event = agents_.take_event(host, "output")) {
      listen(host, bytes_of_utf8(message_field<std::string>(parse_message(*event), "text", "")));
    }
    while (const auto event = agents_.take_event(host, "status")) {
      if (auto status = parse_attempt_status(*event)) parts_[host].end.last = *std::move(status);
    }
    if (ended_[host]) return;
    const auto reply = agents_.take_reply(host);
    if (!reply && agents_.alive(host)) return;
    ended_[host] = true;
    // What a host wrote last may have had no line end: it is told with the others' lines.
    if (nodes_ > 1 && !lines_[host].open_line().empty()) listen(host, "\n");
    if (!reply) {
      parts_[host].end = lost_end(agents_.lost_reason(host));
      parts_[host].end.last.seconds = steady_seconds() - started_;
      return;
    }
    auto end = parse_attempt_end(*reply);
    if (end) {
      parts_[host].end = *std::move(end);
      return;
    }
    Error error = parse_error(parse_message(*reply)).value_or(end.error());
    error.what = parts_[host].host + ": " + error.what;
    start_errors_[host] = std::move(error);
  }

  bool any_failed() const {
    return std::any_of(parts_.begin(), parts_.end(), has_failed) || start_error() != nullptr;
  }

  const Error* start_error() const {
    const auto found = std::find_if(start_errors_.begin(), start_errors_.end(),
                                    [](const auto& error) { return error.has_value(); });
    return found == start_errors_.end() ? nullptr : &**found;
  }

  void listen(std::size_t host, std::string_view bytes) {
    last_output_ = steady_seconds();
    std::string text;
    if (nodes_ == 1) {
      text = bytes;
    } else {
      lines_[host].add(
          bytes, [&](const std::string& line) { text += parts_[host].host + " | " + line + "\n"; });
    }
    files_.write_output(text);
    output_ += text;
    // Cut at twice the size, so that not every line moves the whole text.
    if (output_.size() > 2 * kHostOutputBytes) output_.erase(0, output_.size() - kHostOutputBytes);
    if (listeners_.on_output) listeners_.on_output(text);
  }

  void tell_status() {
    AttemptStatus status = merge_status(parts_);
    status.silent_seconds = steady_seconds() - last_output_;
    status.log_problem = files_.log_problem();
    files_.write_status(status);
    if (listeners_.on_status) listeners_.on_status(status);
  }

  AttemptStop reason_to_stop() const {
    if (interrupted()) return AttemptStop::interrupted;
    const bool silent =
        plan_.silence_seconds > 0 && steady_seconds() - last_output_ > plan_.silence_seconds;
    return silent ? AttemptStop::silent : AttemptStop::none;
  }

  // The first host last: where it stops, the others lose their peer.
  void tell_end() {
    for (std::size_t i = nodes_; i-- > 0;) {
      if (!ended_[i]) agents_.send({i, R"({"tell": "end"})"});
    }
  }

  void give_up() {
    for (std::size_t i = 0; i < nodes_; ++i) {
      if (ended_[i]) continue;
      ended_[i] = true;
      agents_.give_up(i, "does not end what it started");
      parts_[i].end = lost_end(agents_.lost_reason(i));
      parts_[i].end.last.seconds = steady_seconds() - started_;
    }
  }

  AttemptEnd merged() {
    AttemptEnd end = merge_ends(std::move(parts_));
    end.output = std::move(output_);
    files_.finish();
    end.last.log_problem = files_.log_problem();
    end.last.silent_seconds = steady_seconds() - last_output_;
    // What stopped all of them is told in place of how the first one ended.
    if (stop_ == AttemptStop::none) return end;
    end.stop = stop_;
    end.host.clear();
    end.evidence.killed_by_us = true;
    end.evidence.killed_why = stop_ == AttemptStop::interrupted
                                  ? "interrupted"
                                  : "silent for " + format_duration(end.last.silent_seconds);
    return end;
  }

  Agents& agents_;
  const AttemptPlan& plan_;
  const AttemptListeners& listeners_;
  std::size_t nodes_;
  AttemptFiles files_;
  std::vector<EndedPart> parts_;
  std::vector<LineSplitter> lines_;
  std::vector<bool> ended_;
  std::vector<std::optional<Error>> start_errors_;  // of hosts where nothing was started
  std::string output_;                              // its end
  AttemptStop stop_ = AttemptStop::none;
  double started_ = 0, last_output_ = 0;
};

std::string first_lost(const Agents& agents, int nodes) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(nodes); ++i) {
    if (!agents.alive(i)) return agents.hosts()[i].name + ": " + agents.lost_reason(i);
  }
  return "";
}

void pause_for(double seconds) {
  const double end = steady_seconds() + seconds;
  while (steady_seconds() < end && !interrupted()) {
    steady_clock().sleep_seconds(std::min(0.1, seconds));
  }
}

// What the agent before it started there must not meet what comes next.
void end_former(Agents& agents, std::size_t host, double grace_seconds) {
  const FieldsJson ask = {
      {"ask", "succeed"}, {"run", agents.run_key(host)}, {"stop_grace_seconds", grace_seconds}};
  const auto replies =
      agents.ask({{host, ask.dump()}}, agent_leave_seconds(grace_seconds) + kSucceedSeconds);
  if (!replies) return;  // interrupted
  if (const auto error = parse_error(parse_message(replies->front()))) {
    agents.give_up(host, error->what);
  }
}

// Until all hosts of the attempt are there, their patience is over, or Ctrl-C. The reason of the
// host that is still away; empty: all are there.
std::string wait_for_hosts(Agents& agents, const AttemptPlan& plan, const HostPatience& patience) {
  const int nodes = nodes_of(plan.setting.knobs);
  std::string lost = first_lost(agents, nodes);
  if (lost.empty()) return lost;
  if (patience.on_wait) {
    patience.on_wait(fmt::format("waits for {} ({} at most: --host-patience)", lost,
                                 format_duration(patience.seconds)));
  }
  const double end = steady_seconds() + patience.seconds;
  // A host that starts anew takes minutes: tries get rarer, up to twice a minute.
  for (double wait = 1; !lost.empty() && !interrupted(); wait = std::min(kMaxWait, 2 * wait)) {
    pause_for(std::min(wait, std::max(0.0, end - steady_seconds())));
    for (std::size_t i = 0; i < static_cast<std::size_t>(nodes) && !interrupted(); ++i) {
      if (agents.alive(i) || !agents.restart(i)) continue;
      if (agents.alive(i)) end_former(agents, i, plan.stop_grace_seconds);
    }
    lost = first_lost(agents, nodes);
    if (steady_seconds() >= end) return lost;
  }
  return lost;
}

AttemptEnd interrupted_end() {
  AttemptEnd end;
  end.stop = AttemptStop::interrupted;
  end.evidence.killed_by_us = true;
  end.evidence.killed_why = "interrupted";
  return end;
}

}  // namespace

AttemptRunner attempts_on(std::shared_ptr<Agents> agents, HostPatience patience) {
  // A training that runs for days outlives a network that is away for minutes.
  agents->set_silence(std::clamp(patience.seconds, kAgentSilenceSeconds, kSilenceSeconds));
  return [agents = std::move(agents), patience = std::move(patience)](
             const AttemptPlan& plan, const AttemptListeners& listeners) -> Result<AttemptEnd> {
    const std::string lost = wait_for_hosts(*agents, plan, patience);
    if (interrupted()) return interrupted_end();
    if (!lost.empty()) return lost_end(lost);
    return HostAttempt(*agents, plan, listeners).run();
  };
}

Result<AttemptPlan> parse_host_attempt(const std::string& text, const Machine& machine) {
  auto asked = OCRTUNE_TRY(parse_host_trial(text));
  AttemptPlan plan = OCRTUNE_TRY(parse_fields<AttemptPlan>(
      kAttemptFields, FieldsJson::parse(text).value("plan", FieldsJson()).dump(),
      "a host's attempt"));
  inherit(asked);
  asked.place.trial_dir = plan.trial_dir;
  // {port} has to be free on this host.
  asked.place.port = free_port();
  plan.setting.workload = std::move(asked.workload);
  plan.setting.knobs = asked.knobs;
  OCRTUNE_TRY(fill_attempt(machine, asked.place, plan));
  plan.log_path = "/dev/null";  // the words go to where the attempt was asked for
  return plan;
}

AttemptEnd merge_ends(std::vector<EndedPart> parts) {
  const auto rank = [](const EndedPart& part) {
    const AttemptEnd& end = part.end;
    const bool killed = end.stop == AttemptStop::memory ||
                        (end.stop == AttemptStop::none && end.exit.signal == SIGKILL);
    return std::make_tuple(end.clean() || end.stop == AttemptStop::interrupted, !killed,
                           end.stop != AttemptStop::host_lost, end.last.seconds);
  };
  const EndedPart& first = *std::min_element(
      parts.begin(), parts.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  AttemptEnd merged = first.end;
  if (!merged.clean()) merged.host = first.host;
  merged.last = merge_status(parts);
  merged.removed_shm.clear();
  merged.survivors.clear();
  merged.links_down.clear();
  merged.left_over = 0;
  for (const EndedPart& part : parts) {
    const AttemptEnd& own = part.end;
    merged.peak_bytes = std::max(merged.peak_bytes, own.peak_bytes);
    merged.possible_peak_bytes = std::max(merged.possible_peak_bytes, own.possible_peak_bytes);
    merged.left_over += own.left_over;
    for (const auto& [from, into] : {std::pair(&own.removed_shm, &merged.removed_shm),
                                     std::pair(&own.survivors, &merged.survivors),
                                     std::pair(&own.links_down, &merged.links_down)}) {
      for (const std::string& name : *from) into->push_back(part.host + ": " + name);
    }
  }
  return merged;
}

}  // namespace ocrtune
