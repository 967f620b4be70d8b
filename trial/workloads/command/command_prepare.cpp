// The order of prepare(): preset, GPUs, checks, because a preset may add placeholders that the
// checks must find filled. A mistake is an error here, before anything runs; what may be meant is a
// warning.
#include "trial/workloads/command/command_prepare.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/plural.h"
#include "base/process.h"
#include "base/secrets.h"
#include "base/text.h"
#include "probes/machine_gpus.h"
#include "trial/knobs.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_reader.h"
#include "trial/observe/gpu_names.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_preset.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/command/launch_port.h"

namespace ocrtune {
namespace {

// Knobs that reach the command without a placeholder: by the environment, or from outside.
bool acts_from_outside(const std::string& knob) {
  const KnobRow* row = find_knob(knob);
  return knob == "threads" || knob == "binding" || knob == "malloc" || (row != nullptr && row->gpu);
}

Status check_knobs_reach(const PreparedCommand& prepared) {
  const CommandWorkload& workload = prepared.workload;
  const std::set<std::string> used = names_used(workload);
  const auto is_fixed = [&](const std::string& knob) {
    return std::find(workload.fixed.begin(), workload.fixed.end(), knob) != workload.fixed.end();
  };
  for (const auto& [name, value] : workload.environment) {
    if (name != "OMP_NUM_THREADS" || !turns(workload, "threads") || is_fixed("threads")) continue;
    if (!placeholder_names(value).empty()) continue;
    return Error{ErrorKind::usage, "--env OMP_NUM_THREADS=" + value +
                                       " takes the place of threads: leave it out, or do not vary "
                                       "--threads"};
  }
  for (const std::string& knob : workload.knobs) {
    if (used.count(knob) != 0 || acts_from_outside(knob) || is_fixed(knob)) continue;
    const auto& known = prepared.recognised_knobs;
    const bool recognised = std::find(known.begin(), known.end(), knob) != known.end();
    return Error{
        ErrorKind::usage,
        fmt::format(
            "the command ignores {0}: {3}put {{{0}}} where its value belongs, such as "
            "--{1}={{{0}}}, or do not vary it{2}",
            knob,
            knob == "nproc"   ? "nproc_per_node"
            : knob == "nodes" ? "nnodes"
                              : knob,
            knob == "nproc" ? "; so many copies of it are started where it holds {copy}" : "",
            recognised ? fmt::format("--preset {} knows its flag; or ", prepared.recognised) : "")};
  }
  return Status();
}

// The NAME of NAME=VALUE, as a shell takes it before a command.
std::string assigned_name(const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return name.size() < word.size() && is_variable_name(name) ? name : "";
}

Status check_program(const std::string& program, const std::string& directory) {
  const std::string variable = assigned_name(program);
  const bool has_blank = program.find(' ') != std::string::npos;
  // Known only in a trial, unless it is a whole command in quotes.
  const std::string first = program.substr(0, program.find(' '));
  const bool in_quotes = has_blank && first.find('{') == first.npos && find_executable(first);
  const bool filled_later = program.find('{') != std::string::npos;
  if (filled_later && variable.empty() && !in_quotes) return Status();
  const bool relative = program.find('/') != std::string::npos && program[0] != '/';
  const auto found =
      find_executable(relative && !directory.empty() ? join_path(directory, program) : program);
  if (found) return Status();
  if (!variable.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("{0}=... is no program: set a variable of the command with --env "
                             "{0}=VALUE before --",
                             variable)};
  }
  if (!has_blank) return found.error();
  return Error{found.error().kind,
               fmt::format("'{}' is one word and no program: write the command without the quotes",
                           masked_text(program))};
}

// A stand-in for placeholders' values: what is unknown shows with any.
Knobs sample_knobs(const CommandWorkload& workload) {
  Knobs knobs;
  for (const std::string& name : workload.knobs) {
    if (find_knob(name) == nullptr) knobs.dims[name] = "value";
  }
  return knobs;
}

Status check_prepared(const PreparedCommand& prepared, const Machine& machine) {
  const CommandWorkload& workload = prepared.workload;
  if (workload.command.empty()) {
    return Error{ErrorKind::usage, "no command given; write it after --"};
  }
  if (!workload.directory.empty() && !is_directory(workload.directory)) {
    return Error{ErrorKind::missing, "no folder " + workload.directory};
  }
  const auto filled =
      // Filled once with stand-ins: unknown placeholders and open quotes show.
      OCRTUNE_TRY(fill_for(workload, machine, sample_knobs(workload), {"/trial", 1}));
  for (const auto* lines : {&workload.command, &workload.setup, &workload.cleanup}) {
    const auto masked = std::ranges::find_if(*lines, holds_mask);
    if (masked == lines->end()) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("the command holds a secret that was not stored ({}): pass it by --env "
                    "NAME, or name the whole command after --",
                    *masked)};
  }
  for (const std::string& name : workload.inherited) {
    if (std::getenv(name.c_str()) == nullptr) {
      return Error{ErrorKind::missing,
                   name + " is not in the environment: set it, its value is not stored"};
    }
  }
  const Status program = check_program(workload.command[0], workload.directory);
  if (!program) return program;
  for (const auto& lines : {filled.setup, filled.cleanup}) {
    for (const auto& line : lines) {
      const Status found = check_program(line[0], workload.directory);
      if (!found) return found;
    }
  }
  return check_knobs_reach(prepared);
}

// `asked`: the workload whose knobs are the ones that the user has named.
std::vector<std::string> general_warnings(const PreparedCommand& prepared,
                                          const CommandWorkload& asked) {
  const CommandWorkload& workload = prepared.workload;
  std::vector<std::string> warnings;
  if (workload.preset == "paddleocr-infer") return warnings;  // nothing is trained
  const std::string kind = workload.log_reader.substr(0, workload.log_reader.find(':'));
  const bool trains = prepared.trains && !starts_copies(workload);
  if (trains && turns(asked, "nproc") && !turns(asked, "threads") &&
      std::getenv("OMP_NUM_THREADS") == nullptr) {
    warnings.emplace_back(
        "threads are left to the command (torchrun and Paddle take one for each of several "
        "processes); --threads 1,2 varies OMP_NUM_THREADS");
  }
  if (turns(asked, "binding")) {
    for (const char* name : {"GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_PLACES"}) {
      if (std::getenv(name) == nullptr) continue;
      warnings.push_back(fmt::format(
          "{} is set: it may pin the threads of every rank to the same CPUs; unset it", name));
    }
  }
  for (const LogReaderRow& row : log_reader_table()) {
    if (kind != row.name || workload.per_rank || !turns(asked, "nproc")) continue;
    if (kind == "paddleocr" || kind == "runs") continue;
    warnings.push_back(fmt::format(
        "log reader {} takes the numbers it reads as those of {}; say --metric-of {} if that is "
        "wrong",
        kind, row.per_rank ? "one rank" : "the whole job", row.per_rank ? "job" : "rank"));
  }
  return warnings;
}

// --metric names the number for readers that know none by themselves.
Status name_the_metric(CommandWorkload& workload) {
  if (workload.metric.empty()) return Status();
  if (workload.log_reader.empty() || workload.log_reader == "metric") {
    workload.log_reader = "metric:" + workload.metric;
  } else if (workload.log_reader == "json-lines") {
    workload.log_reader = "json-lines:" + workload.metric;
  } else if (!(workload.log_reader == "paddleocr" && workload.metric == "ips")) {
    return Error{ErrorKind::usage,
                 fmt::format("--metric {}: log reader '{}' knows its number by itself; leave one "
                             "of the two out",
                             workload.metric, workload.log_reader)};
  }
  workload.metric.clear();
  return Status();
}

// A command that ends by itself is measured run after run; it is launched for good as it is.
Status repeat_the_command(PreparedCommand& prepared) {
  CommandWorkload& workload = prepared.workload;
  if (!times_whole_runs(workload)) return Status();
  if (starts_copies(workload) || !workload.log_file.empty()) {
    return Error{ErrorKind::usage,
                 "--log-reader runs times a whole command: leave out {gpu}, {copy} and --log-file"};
  }
  if (prepared.launch.empty()) prepared.launch = workload.command;
  std::vector<std::string> loop = {
      // A shell's loop, so that the pause between two runs is that of a fork. A run that fails ends
      // the loop.
      "sh", "-c", fmt::format("while :; do \"$@\" || exit; echo '{}'; done", kRunEnded), "sh"};
  loop.insert(loop.end(), workload.command.begin(), workload.command.end());
  workload.command = std::move(loop);
  return Status();
}

void say_how_they_share(const Machine& machine, std::vector<std::string>& warnings) {
  for (const SystemSetting& setting : machine.settings) {
    if (setting.name != kMpsSetting) continue;
    warnings.push_back(
        setting.value == "on"
            ? "CUDA MPS is on: kernels of copies on one GPU run side by side"
            : "CUDA MPS is off: copies on one GPU take turns; nvidia-cuda-mps-control "
              "-d starts it");
  }
}

// A command with {gpus} computes on GPUs, one for each process; of one with {gpu} several copies
// may share one.
Status count_gpus(PreparedCommand& prepared, const Machine& machine) {
  const CommandWorkload& workload = prepared.workload;
  const bool copies = copies_take_gpus(workload);
  if (names_used(workload).count("gpus") == 0 && !copies) return Status();
  const auto gpus =
      workload.gpus.empty() ? visible_gpu_names(machine, process_environment()) : workload.gpus;
  if (gpus.empty()) {
    return Error{ErrorKind::unsupported, std::string(copies ? "{gpu}" : "{gpus}") +
                                             ": no GPU is visible here (" + machine.gpu_state +
                                             ")"};
  }
  prepared.gpus = static_cast<int>(gpus.size());
  if (copies) {
    say_how_they_share(machine, prepared.warnings);
    return Status();
  }
  prepared.refuse = [most = prepared.gpus,
                     // What the preset refuses stays refused.
                     also = prepared.refuse](const Knobs& knobs) -> std::optional<Refusal> {
    if (knobs.nproc > most) {
      return Refusal{Outcome::unsupported, "gpus",
                     fmt::format("{} on {}: each takes one for itself",
                                 how_many(knobs.nproc, "process"), how_many(most, "GPU"))};
    }
    return also ? also(knobs) : std::nullopt;
  };
  return Status();
}

Result<PreparedCommand> prepare(const CommandWorkload& workload, const Machine& machine,
                                const KnobChoice& choose) {
  PreparedCommand prepared;
  prepared.workload = workload;
  OCRTUNE_TRY(apply_preset(prepared, machine, choose));
  OCRTUNE_TRY(count_gpus(prepared, machine));
  OCRTUNE_TRY(check_prepared(prepared, machine));
  return prepared;
}

Status check_reader(PreparedCommand& prepared) {
  const std::string& reader = prepared.workload.log_reader;
  if (!reader.empty()) OCRTUNE_TRY(make_log_reader(reader, LogContext()));
  return repeat_the_command(prepared);
}

}  // namespace

Result<PreparedCommand> prepare_launch(const CommandWorkload& workload, const Machine& machine) {
  return prepare(workload, machine, {});
}

Result<PreparedCommand> prepare_command(const CommandWorkload& workload, const Machine& machine,
                                        const KnobChoice& choose) {
  auto prepared = prepare(workload, machine, choose);
  if (!prepared || prepared->workload.serves) return prepared;
  CommandWorkload& ready = prepared->workload;
  // Each copy tells its own speed.
  if (starts_copies(ready) && !ready.per_rank) ready.per_rank = !counts_for_all(ready.log_reader);
  OCRTUNE_TRY(name_the_metric(ready));
  OCRTUNE_TRY(check_reader(*prepared));
  for (std::string& warning : general_warnings(*prepared, workload)) {
    prepared->warnings.push_back(std::move(warning));
  }
  return prepared;
}

bool turns_global_batch(const PreparedCommand& prepared, const CommandWorkload& asked) {
  const CommandWorkload& workload = prepared.workload;
  const auto holds = [](const std::vector<std::string>& names, const char* knob) {
    return std::find(names.begin(), names.end(), knob) != names.end();
  };
  const std::set<std::string> used = names_used(workload);
  // Asked for, turned by the preset, or a place in the command without a value of the user's.
  const auto varies = [&](const char* knob) {
    return turns(asked, knob) || holds(prepared.turnable, knob) ||
           (used.contains(knob) && !holds(workload.fixed, knob));
  };
  // What prints a number of its own and takes no batch may well train nothing: pages/s of a reader.
  const bool trains = prepared.trains && preset_trains(workload.preset) && !workload.serves &&
                      !starts_copies(workload);
  return trains &&
         (varies("batch") || (varies("nproc") && !starts_with(workload.log_reader, "metric")));
}

Status read_by(const std::string& log_reader, std::optional<bool> per_rank,
               PreparedCommand& command) {
  command.workload.log_reader = log_reader;
  if (!command.workload.per_rank) command.workload.per_rank = per_rank;
  return check_reader(command);
}

CommandWorkload launch_workload(const PreparedCommand& command) {
  CommandWorkload workload = command.workload;
  if (!command.launch.empty()) workload.command = command.launch;
  for (const std::string& name : command.trial_variables) {
    std::erase_if(workload.environment, [&](const auto& one) { return one.first == name; });
  }
  return workload;
}

std::vector<std::string> shell_lines(const FilledCommand& filled) {
  std::vector<std::string> lines;
  lines.reserve(filled.setup.size());
  const auto line_of = [](const std::vector<std::string>& line) {
    return shell_line(shell_join(masked_arguments(line)));
  };
  for (const auto& line : filled.setup) lines.push_back(line_of(line));
  Launch launch = filled.launch;
  if (!lines.empty()) {  // the folder holds for the lines after it
    Launch first;
    first.directory = std::exchange(launch.directory, "");
    lines[0] = launch_text(first) + lines[0];
  }
  lines.push_back(launch_text(launch));
  for (const auto& line : filled.cleanup) lines.push_back(line_of(line));
  return lines;
}

std::vector<std::string> dry_run_lines(const PreparedCommand& command, const Machine& machine,
                                       const Knobs& knobs) {
  TrialPlace place = nodes_of(knobs) > 1 ? any_host() : TrialPlace();
  place.trial_dir = "<trial_dir>";
  place.port = kLaunchPort;
  const auto filled = fill_for(command.workload, machine, knobs, place);
  if (!filled) return {"# " + filled.error().what};
  return shell_lines(*filled);
}

Result<Launch> launch_of(const PreparedCommand& command, const Machine& machine,
                         const Knobs& knobs) {
  TrialPlace place = nodes_of(knobs) > 1 ? any_host() : TrialPlace();
  // A fixed folder: a line that is printed today must hold tomorrow.
  place.trial_dir = join_path(default_data_directory(), "launch");
  place.port = kLaunchPort;
  const CommandWorkload workload = launch_workload(command);
  auto filled = OCRTUNE_TRY(fill_for(workload, machine, knobs, place));
  if (names_used(workload).count("trial_dir") != 0) filled.launch.scratch = place.trial_dir;
  return std::move(filled.launch);
}

}  // namespace ocrtune
