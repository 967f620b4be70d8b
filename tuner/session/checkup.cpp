// Sentences for `doctor`, from facts that others have gathered and from one trial. Nothing is
// measured here.
#include "tuner/session/checkup.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "probes/placement/partition.h"
#include "tuner/job/job_workload.h"

namespace ocrtune {
namespace {

using State = Check::State;

constexpr double kFewTrials = 5;  // a search of fewer says little

std::string limits_text(const Machine& machine) {
  std::string text;
  for (const auto& [name, value] : machine.ulimits) {
    // Limits that a training with many loaders and pinned memory runs into.
    const bool bears =
        name.find("open") != std::string::npos || name.find("nproc") != std::string::npos ||
        name.find("processes") != std::string::npos || name.find("locked") != std::string::npos;
    if (bears) text += fmt::format("; ulimit {} {}", name, value);
  }
  return text;
}

Check speed_check(const Trial& trial, const Job& job, const SearchRequest& search) {
  std::int64_t steps = 0;
  for (const Sample& sample : trial.samples) steps += sample.steps;
  std::string text =
      fmt::format("{}: {} {}", knobs_text(trial.knobs), format_count(trial.samples_per_second),
                  rate_name(workload_of(job, search)->unit()));
  if (steps > 0) text += " over " + how_many(steps, "step");
  text += fmt::format(", after a start of {}", format_duration(trial.start_seconds));
  return {State::ok, "step", text};
}

Check memory_check(const Trial& trial, const SearchRequest& search, const Machine& machine) {
  // What the user set, else what the machine allows.
  const double limit = search.memory_limit_bytes > 0
                           ? static_cast<double>(search.memory_limit_bytes)
                           : machine.memory.limit_bytes.value_or(0);
  if (trial.peak_bytes == 0) {
    return {State::warning, "memory",
            "no memory of the processes could be read: settings are not checked against a limit"};
  }
  const std::string peak = "peak " + format_bytes(trial.peak_bytes);
  if (limit <= 0) return {State::warning, "memory", peak + "; no limit is known"};
  const double usable = limit * (1 - search.memory_margin);
  const std::string of =
      fmt::format("{} of {}", peak, format_bytes(static_cast<std::uint64_t>(limit)));
  if (static_cast<double>(trial.peak_bytes) <= usable) return {State::ok, "memory", of};
  return {State::fails, "memory",
          fmt::format("{}: more than leaves a margin of {}; start with a smaller --baseline batch",
                      of, format_percent(search.memory_margin))};
}

Check budget_check(const Trial& trial, const SearchRequest& search, std::int64_t settings) {
  const double trials = search.budget_seconds / std::max(trial.seconds, 0.01);
  const std::string text = fmt::format(
      "a trial takes {}: {} pays for about {}; there {} {}", format_duration(trial.seconds),
      format_duration(search.budget_seconds), how_many(std::llround(trials), "trial"),
      settings == 1 ? "is" : "are", how_many(settings, "setting"));
  if (trials >= std::min(kFewTrials, static_cast<double>(settings))) {
    return {State::ok, "budget", text};
  }
  return {State::warning, "budget",
          fmt::format("{}; give --budget {:.0f}m", text,
                      // Twenty trials.
                      std::ceil(4 * kFewTrials * trial.seconds / 60))};
}

}  // namespace

const char* check_state_name(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::warning:
      return "warning";
    case State::fails:
      return "fails";
  }
  return "";
}

std::vector<Check> machine_checks(const Machine& machine) {
  std::string text = how_many(usable_cpu_count(machine.cpu), "CPU");
  if (machine.cpu.usable_cpus.known()) text += " (" + machine.cpu.usable_cpus.source + ")";
  if (machine.memory.limit_bytes.known()) {
    text += fmt::format("; memory {} ({})",
                        format_bytes(static_cast<std::uint64_t>(*machine.memory.limit_bytes.value)),
                        machine.memory.limit_bytes.source);
  }
  if (machine.memory.shm_free_bytes.known()) {
    text += "; /dev/shm " + format_bytes(*machine.memory.shm_free_bytes.value) + " free";
  }
  text += limits_text(machine);
  std::vector<Check> checks = {{State::ok, "machine", text}};
  for (const std::string& warning : machine.warnings) {
    checks.push_back({State::warning, "machine", warning});
  }
  return checks;
}

Check own_name_check(const std::string& name, const std::string& address) {
  if (!address.empty()) return {State::ok, "name", name + " resolves to " + address};
  return {State::warning, "name",
          fmt::format("this host's own name {0} does not resolve: ranks of torchrun, Gloo and "
                      "paddle.distributed may not find each other; add it to /etc/hosts: "
                      "127.0.0.1 {0}",
                      name)};
}

std::vector<Check> step_checks(const Trial& trial, const Job& job, const SearchRequest& search,
                               const Machine& machine, std::int64_t settings) {
  if (!trial.ok()) {
    return {{State::fails, "step",
             fmt::format("{}: {}{}", knobs_text(trial.knobs), outcome_name(trial.outcome),
                         trial.reason.empty() ? "" : ": " + trial.reason)}};
  }
  return {speed_check(trial, job, search), memory_check(trial, search, machine),
          budget_check(trial, search, settings)};
}

}  // namespace ocrtune
