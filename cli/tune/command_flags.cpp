#include "cli/tune/command_flags.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "probes/machine_gpus.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_template.h"
#include "tuner/session/tune_setup.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxShown = 12;  // settings of a dry run

Status read_environment(const CommandFlags& flags, RunOptions& options) {
  for (const std::string& assignment : flags.environment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorKind::usage, "--env " + assignment + ": needs NAME=VALUE"};
    }
    options.environment.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return Status();
}

Status read_directory(RunOptions& options) {
  auto directory = real_path(options.directory.empty() ? "." : options.directory);
  if (!directory || !is_directory(*directory)) {
    return Error{ErrorKind::missing, "--cwd: no folder " + options.directory};
  }
  options.directory = *std::move(directory);
  return Status();
}

// Mistakes in the command, and what it says of the user's setting now.
Result<PreparedCommand> look_at_command(RunOptions& options, const Machine& machine,
                                        bool baseline_given) {
  CommandWorkload workload = command_workload(options);
  workload.knobs.assign(options.given.begin(), options.given.end());
  auto prepared = prepare_command(workload, machine);
  if (!prepared) return prepared;
  for (const std::string& warning : prepared->warnings) {
    std::fprintf(stderr, "ocrtune tune: note: %s\n", warning.c_str());
  }
  int ranks = 1;
  const auto nproc = options.axes.find("nproc");
  if (nproc != options.axes.end()) {
    for (const std::string& value : nproc->second) {
      ranks = std::max(ranks, static_cast<int>(parse_integer(value).value_or(1)));
    }
  }
  options.command_gpus = prepared->gpus;
  if (prepared->gpus == 0) {  // else the devices are named
    for (const std::string& note : device_notes(machine, process_environment(), ranks)) {
      std::fprintf(stderr, "ocrtune tune: note: %s\n", note.c_str());
    }
  }
  if (!baseline_given && prepared->current) {
    options.baseline = *prepared->current;
    options.baseline_source = kBaselineRead;
  }
  return prepared;
}

}  // namespace

void declare_command_flags(CLI::App& app, CommandFlags& flags, RunOptions& options) {
  const char* group = "Your own command";
  const auto add = [&](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->group(group);
  };
  add("--preset", options.preset,
      "paddleocr: set the right -o keys by itself; paddleocr-infer: predict_system.py");
  add("--log-reader", options.log_reader,
      "How to read the command's lines (ocrtune list log-readers), regex:..., json-lines:KEY");
  add("--metric", options.metric,
      "The number in the lines that is the speed: NAME or NAME:UNIT, such as step_time:ms/step");
  add("--metric-of", options.metric_of, "Whose speed the lines tell: rank or job")
      ->check(CLI::IsMember({"rank", "job"}));
  add("--log-file", options.log_file, "Read this file, such as {trial_dir}/log/0, not the output");
  add("--env", flags.environment, "NAME=VALUE for the command; VALUE may hold placeholders")
      ->allow_extra_args(false);
  add("--cwd", options.directory, "Folder in which the command runs (default: this one)");
  add("--setup", flags.setup, "Command to run before each trial")->allow_extra_args(false);
  add("--cleanup", flags.cleanup, "Command to run after each trial")->allow_extra_args(false);
  add("command", options.command,
      "After --: your launch command with {nproc} {threads} {batch} {workers} {trial_dir}");
}

Status read_command_flags(const CommandFlags& flags, RunOptions& options) {
  const std::pair<const char*, bool> given[] = {
      {"--preset", !options.preset.empty()},     {"--log-reader", !options.log_reader.empty()},
      {"--metric", !options.metric.empty()},     {"--metric-of", !options.metric_of.empty()},
      {"--log-file", !options.log_file.empty()}, {"--env", !flags.environment.empty()},
      {"--cwd", !options.directory.empty()},     {"--setup", !flags.setup.empty()},
      {"--cleanup", !flags.cleanup.empty()}};
  if (options.command.empty()) {
    for (const auto& [name, is_given] : given) {
      if (!is_given) continue;
      return Error{
          ErrorKind::usage,
          fmt::format("{} is for a command of your own; write it at the end, after --", name)};
    }
    return Status();
  }
  options.setup = join(flags.setup, "\n");
  options.cleanup = join(flags.cleanup, "\n");
  const Status environment = read_environment(flags, options);
  return environment ? read_directory(options) : environment;
}

double command_trial_seconds(double budget_seconds) {
  constexpr double kTrialsWanted = 60;
  return std::clamp(budget_seconds / kTrialsWanted, 1.5, 4.0);
}

Status settle_command(RunOptions& options, const Machine& machine, bool baseline_given) {
  if (options.command.empty() && options.url.empty()) return Status();
  std::set<std::string> turned = options.given;
  const auto add_names = [&](const std::string& text) {
    for (const std::string& name : placeholder_names(text)) turned.insert(name);
  };
  for (const std::string& word : options.command) add_names(word);
  for (const auto& [name, value] : options.environment) add_names(value);
  if (!options.command.empty()) {
    const auto prepared = look_at_command(options, machine, baseline_given);
    if (!prepared) return prepared.error();
    turned.insert(prepared->turnable.begin(), prepared->turnable.end());
  }
  for (const KnobRow& row : knob_table()) {
    if (turned.count(row.name) == 0 && options.axes.count(row.name) == 0) {
      options.axes[row.name] = {knob_text(options.baseline, row.name)};
    }
  }
  return Status();
}

Status print_commands(const RunOptions& options, const Machine& machine, const Space& space) {
  const auto prepared = prepare_command(command_workload(options), machine);
  if (!prepared) return prepared.error();
  std::vector<Knobs> settings = {options.baseline};
  for (const Knobs& knobs : space.points()) {
    if (knobs != options.baseline) settings.push_back(knobs);
  }
  for (std::size_t i = 0; i < std::min(settings.size(), kMaxShown); ++i) {
    std::printf("%s%s\n", knobs_text(settings[i]).c_str(), i == 0 ? " (baseline)" : "");
    for (const auto& line : dry_run_lines(*prepared, machine, settings[i])) {
      std::printf("  %s\n", line.c_str());
    }
  }
  if (settings.size() > kMaxShown) {
    std::printf("and %zu settings more\n", settings.size() - kMaxShown);
  }
  return Status();
}

}  // namespace ocrtune
