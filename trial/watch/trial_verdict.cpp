// The order of the questions is the point: a stop of our own that needs no proof, the kernel's
// killer, what a rank said, a signal, an exit code. What remains is an ending without a complaint.
// A later clue only repeats what an earlier one explains.
#include "trial/watch/trial_verdict.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/process.h"
#include "base/text.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/failure_evidence.h"

namespace ocrtune {
namespace {

void set(Trial& trial, Outcome outcome, std::string cause, std::string reason) {
  trial.outcome = outcome;
  trial.cause = std::move(cause);
  trial.reason = std::move(reason);
}

// A rank that lost its peer only repeats that another one failed.
const ErrorEvent* first_cause(const std::vector<ErrorEvent>& errors) {
  const auto own = std::find_if(errors.begin(), errors.end(),
                                [](const ErrorEvent& error) { return error.cause != "peer"; });
  if (own != errors.end()) return &*own;
  return errors.empty() ? nullptr : &errors.front();
}

const RankExit* first_signal(const std::vector<RankExit>& exits) {
  const auto found = std::find_if(exits.begin(), exits.end(),
                                  [](const RankExit& one) { return one.exit.signal != 0; });
  return found == exits.end() ? nullptr : &*found;
}

const RankExit* first_failure(const std::vector<RankExit>& exits) {
  const auto found = std::find_if(exits.begin(), exits.end(),
                                  [](const RankExit& one) { return !one.exit.clean(); });
  return found == exits.end() ? nullptr : &*found;
}

std::string in_words(const RankExit& one, bool user_command) {
  return user_command ? "the command: " + one.exit.text()
                      : fmt::format("rank {}: {}", one.rank, one.exit.text());
}

// What the out-of-memory killer does to a trial: SIGKILL, which the exit, a launcher or the log
// tells of. A child that is gone proves nothing, nearly every command has some; and in a container
// the count of the group is everybody's.
bool was_killed(const TrialFacts& facts) {
  const auto killed = [](const RankExit& one) {
    return one.exit.signal == SIGKILL || decode_exit(one.exit.code).signal == SIGKILL;
  };
  return facts.oom.named || facts.kill_told ||
         std::any_of(facts.exits.begin(), facts.exits.end(), killed);
}

// True when the facts alone (not our stop) say what happened.
bool judge_failures(const TrialFacts& facts, Trial& trial) {
  for (const RankExit& one : facts.exits) {
    if (!one.exit.clean()) trial.evidence.push_back(in_words(one, facts.user_command));
  }
  for (const ErrorEvent& error : facts.errors) {
    trial.evidence.push_back(fmt::format("rank {} said: {}", error.rank, error.reason));
  }
  trial.evidence.insert(trial.evidence.end(), facts.oom.evidence.begin(), facts.oom.evidence.end());
  const ErrorEvent* error = first_cause(facts.errors);
  const RankExit* signal = first_signal(facts.exits);
  // A rank's own words win over the count, since it may have failed before and for another reason.
  if (facts.oom.killed && was_killed(facts) && (error == nullptr || error->cause == "peer")) {
    set(trial, Outcome::out_of_memory, facts.oom.cause,
        fmt::format("the kernel's out-of-memory killer struck ({})", facts.oom.cause));
    return true;
  }
  if (error != nullptr && error->cause != "peer") {
    set(trial, error->outcome, error->cause, error->reason);
    return true;
  }
  if (signal != nullptr) {
    std::string reason = in_words(*signal, facts.user_command);
    if (signal->exit.signal == SIGKILL)
      reason += ", sender unknown (no out-of-memory kill counted)";
    // Writing to a mapped file that tmpfs has no room for raises it (mmap(2)).
    if (signal->exit.signal == SIGBUS) reason += "; a full /dev/shm does that";
    set(trial, Outcome::crashed, "signal", reason);
    return true;
  }
  const RankExit* failure = first_failure(facts.exits);
  if (failure != nullptr) {
    const auto relayed = decode_exit(failure->exit.code).signal;  // as shells and launchers tell it
    const std::string child =
        relayed ? fmt::format(" (a child was killed by {})", signal_name(*relayed)) : "";
    set(trial, Outcome::crashed, "exit", in_words(*failure, facts.user_command) + child);
    return true;
  }
  if (error != nullptr) {
    set(trial, error->outcome, error->cause, error->reason);
    return true;
  }
  if (!facts.broken_event.empty()) {
    set(trial, Outcome::crashed, "protocol", facts.broken_event);
    return true;
  }
  return false;
}

// The processes ended by themselves and none of them complained.
void judge_ending(const TrialFacts& facts, Trial& trial) {
  // It ended early but was measured: the rate stands.
  if (facts.windows >= facts.min_windows) {
    set(trial, Outcome::ok, "", "");
    return;
  }
  if (!facts.left_running.empty()) {
    set(trial, Outcome::crashed, "left_running",
        fmt::format("the command ended while {} lived on in the background: start that in the "
                    "foreground, its output and its memory are measured there",
                    facts.left_running));
    return;
  }
  if (!facts.no_metric_reason.empty()) {
    set(trial, Outcome::crashed, "no_metric", facts.no_metric_reason);
    return;
  }
  set(trial, Outcome::crashed, "ended",
      fmt::format("ended by itself after {}; {} are needed: give it more data, "
                  "more epochs or a shorter logging interval; where the end of a run is all "
                  "that tells its speed: --log-reader runs",
                  how_many(facts.windows, "measured interval"), facts.min_windows));
}

}  // namespace

void judge_trial(const TrialFacts& facts, Trial& trial) {
  switch (facts.stop) {
    case StopCause::measured:
      set(trial, Outcome::ok, "", "");
      return;
    case StopCause::memory_limit:
      set(trial, Outcome::out_of_memory, "limit", facts.stop_reason);
      return;
    case StopCause::host_memory:
      set(trial, Outcome::out_of_memory, "host", facts.stop_reason);
      return;
    case StopCause::interrupted:
      set(trial, Outcome::skipped, "interrupted", facts.stop_reason);
      return;
    case StopCause::refused:
      set(trial, Outcome::unsupported, "setting", facts.stop_reason);
      return;
    case StopCause::not_loaded:
      set(trial, Outcome::unsupported, "malloc", facts.stop_reason);
      return;
    case StopCause::exhausted:  // a crash, for those are tried again: another moment may have room
      set(trial, Outcome::crashed, "resources", facts.stop_reason);
      return;
    default:
      break;
  }
  if (judge_failures(facts, trial)) return;
  if (facts.http_port > 0) {
    set(trial, Outcome::crashed, "server",
        fmt::format("it listens on {0}: a server is measured with --mode infer --url "
                    "http://127.0.0.1:{{port}}/PATH, and {{port}} for {0} in the command",
                    facts.http_port));
    return;
  }
  if (facts.stop == StopCause::no_metric) {
    set(trial, Outcome::crashed, "no_metric", facts.no_metric_reason);
    return;
  }
  if (facts.stop == StopCause::hung) {
    const bool mute = facts.user_command && facts.windows == 0;
    set(trial, Outcome::hung, "silence",
        facts.stop_reason + (mute ? "; output that is buffered or goes to a file is not seen: "
                                    "--log-file names the file"
                                  : ""));
    return;
  }
  if (facts.stop == StopCause::timed_out) {
    if (facts.windows >= facts.min_windows) {
      set(trial, Outcome::ok, "", "");  // few samples, and their number says so
    } else if (!facts.no_metric_reason.empty()) {
      set(trial, Outcome::timed_out, "no_metric", facts.no_metric_reason);
    } else {
      set(trial, Outcome::timed_out, "", facts.stop_reason);
    }
    return;
  }
  judge_ending(facts, trial);
}

FailureEvidence with_end(const TrialFacts& facts, FailureEvidence counters) {
  counters.killed_by_us = facts.stop != StopCause::none;
  counters.killed_why = facts.stop_reason;
  if (const RankExit* failure = first_failure(facts.exits)) {
    counters.exit_code = failure->exit.signal != 0 ? -failure->exit.signal : failure->exit.code;
  }
  return counters;
}

std::string living_words(const std::vector<ProcessFacts>& processes) {
  std::vector<std::string> names;
  for (const ProcessFacts& process : processes) {
    if (process.state != 'Z') names.push_back(fmt::format("{} ({})", process.name, process.pid));
  }
  return join(names, ", ");
}

bool tells_of_kill(const std::string& log_tail) {
  const Diagnosis diagnosis = diagnose_text(log_tail);
  return std::any_of(diagnosis.causes.begin(), diagnosis.causes.end(), [](const Cause& cause) {
    const std::string_view name = cause.row->name;
    return name == "host_out_of_memory" || name == "cgroup_out_of_memory" ||
           name == "numa_node_full" || name == "killed_by_other";
  });
}

StepLatency step_latency(const LatencyHistogram& steps) {
  return {steps.count(), steps.quantile(0.50), steps.quantile(0.90), steps.quantile(0.95),
          steps.quantile(0.99)};
}

}  // namespace ocrtune
