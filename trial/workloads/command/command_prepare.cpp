#include "trial/workloads/command/command_prepare.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "trial/logs/log_reader.h"
#include "trial/observe/gpu_names.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_preset.h"
#include "trial/workloads/command/command_template.h"

namespace ocrtune {
namespace {

// Knobs that reach the command without a placeholder: by the environment, or from outside.
bool acts_from_outside(const std::string& knob) {
  static const std::set<std::string> kNames = {"threads", "binding",  "malloc",     "p2p", "ctas",
                                               "algo",    "buffsize", "cumem_host", "nvls"};
  return kNames.count(knob) != 0;
}

std::set<std::string> names_used(const CommandWorkload& workload) {
  std::set<std::string> names;
  const auto add = [&](const std::string& text) {
    for (std::string& name : placeholder_names(text)) names.insert(std::move(name));
  };
  for (const std::string& argument : workload.command) add(argument);
  for (const std::string& line : workload.setup) add(line);
  for (const auto& [name, value] : workload.environment) add(value);
  if (names.count("global_batch") != 0) names.insert("batch");
  if (names.count("gpus") != 0) names.insert("nproc");
  return names;
}

Status check_knobs_reach(const CommandWorkload& workload) {
  const std::set<std::string> used = names_used(workload);
  for (const std::string& knob : workload.knobs) {
    const auto& fixed = workload.fixed;
    const bool is_fixed = std::find(fixed.begin(), fixed.end(), knob) != fixed.end();
    if (used.count(knob) != 0 || acts_from_outside(knob) || is_fixed) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("the command ignores {0}: put {{{0}}} where its value belongs, such as "
                    "--{1}={{{0}}}, or do not vary it",
                    knob, knob == "nproc" ? "nproc_per_node" : knob)};
  }
  return Status();
}

Status check_program(const std::string& program, const std::string& directory) {
  if (program.find('{') != std::string::npos) return Status();  // known only in a trial
  const bool relative = program.find('/') != std::string::npos && program[0] != '/';
  const auto found =
      find_executable(relative && !directory.empty() ? join_path(directory, program) : program);
  return found ? Status() : found.error();
}

// A stand-in for placeholders' values: what is unknown shows with any.
Knobs sample_knobs(const CommandWorkload& workload) {
  Knobs knobs;
  for (const std::string& name : workload.knobs) {
    if (find_knob(name) == nullptr) knobs.dims[name] = "value";
  }
  return knobs;
}

Status check_workload(const CommandWorkload& workload, const Machine& machine) {
  if (workload.command.empty()) {
    return Error{ErrorKind::usage, "no command given; write it after --"};
  }
  if (!workload.directory.empty() && !is_directory(workload.directory)) {
    return Error{ErrorKind::missing, "no folder " + workload.directory};
  }
  const auto filled = fill_for(workload, machine, sample_knobs(workload), {"/trial", 1});
  if (!filled) return filled.error();
  const Status program = check_program(workload.command[0], workload.directory);
  if (!program) return program;
  for (const auto& lines : {filled->setup, filled->cleanup}) {
    for (const auto& line : lines) {
      const Status found = check_program(line[0], workload.directory);
      if (!found) return found;
    }
  }
  return check_knobs_reach(workload);
}

std::vector<std::string> general_warnings(const CommandWorkload& workload) {
  std::vector<std::string> warnings;
  if (workload.preset == "paddleocr-infer") return warnings;  // nothing is trained
  if (turns(workload, "nproc") || turns(workload, "batch")) {
    warnings.emplace_back(
        "the global batch is nproc x batch and changes with both; the learning rate is left as it "
        "is: scale it with the global batch (linearly for SGD, by the square root for Adam)");
  }
  if (turns(workload, "nproc") && !turns(workload, "threads") &&
      std::getenv("OMP_NUM_THREADS") == nullptr) {
    warnings.emplace_back(
        "threads are left to the command (torchrun and Paddle take one for each of several "
        "processes); --threads 1,2 varies OMP_NUM_THREADS");
  }
  if (turns(workload, "binding")) {
    for (const char* name : {"GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_PLACES"}) {
      if (std::getenv(name) == nullptr) continue;
      warnings.push_back(fmt::format(
          "{} is set: it may pin the threads of every rank to the same CPUs; unset it", name));
    }
  }
  const std::string kind = workload.log_reader.substr(0, workload.log_reader.find(':'));
  for (const LogReaderRow& row : log_reader_table()) {
    if (kind != row.name || workload.per_rank || kind == "paddleocr" || !turns(workload, "nproc")) {
      continue;
    }
    warnings.push_back(fmt::format(
        "log reader {} takes the numbers it reads as those of {}; say --metric-of {} if that is "
        "wrong",
        kind, row.per_rank ? "one rank" : "the whole job", row.per_rank ? "job" : "rank"));
  }
  return warnings;
}

// --metric names the number for readers that know none by themselves.
Status name_the_metric(CommandWorkload& workload) {
  if (workload.metric.empty() && workload.log_reader.empty()) {
    return Error{ErrorKind::usage,
                 "say how the command tells its speed: --log-reader NAME (ocrtune list "
                 "log-readers), --metric NAME, or --preset paddleocr"};
  }
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

// A command with {gpus} computes on GPUs, one for each process.
Status count_gpus(PreparedCommand& prepared, const Machine& machine) {
  const CommandWorkload& workload = prepared.workload;
  if (names_used(workload).count("gpus") == 0) return Status();
  const auto gpus =
      workload.gpus.empty() ? visible_gpu_names(machine, process_environment()) : workload.gpus;
  if (gpus.empty()) {
    return Error{ErrorKind::unsupported,
                 "{gpus}: no GPU is visible here (" + machine.gpu_state + ")"};
  }
  prepared.gpus = static_cast<int>(gpus.size());
  prepared.refuse = [most = prepared.gpus,
                     also = prepared.refuse](const Knobs& knobs) -> std::optional<Refusal> {
    if (knobs.nproc > most) {
      return Refusal{Outcome::unsupported, "gpus",
                     fmt::format("{} processes on {} GPU{}: each takes one for itself", knobs.nproc,
                                 most, most == 1 ? "" : "s")};
    }
    return also ? also(knobs) : std::nullopt;
  };
  return Status();
}

}  // namespace

Result<PreparedCommand> prepare_command(const CommandWorkload& workload, const Machine& machine) {
  PreparedCommand prepared;
  prepared.workload = workload;
  if (!workload.preset.empty()) {
    const Status applied = apply_preset(prepared, machine);
    if (!applied) return applied.error();
  }
  if (Status counted = count_gpus(prepared, machine); !counted) return counted.error();
  if (prepared.workload.serves) {
    const Status checked = check_workload(prepared.workload, machine);
    if (!checked) return checked.error();
    return prepared;
  }
  const Status named = name_the_metric(prepared.workload);
  if (!named) return named.error();
  const auto reader = make_log_reader(prepared.workload.log_reader, LogContext());
  if (!reader) return reader.error();
  const Status checked = check_workload(prepared.workload, machine);
  if (!checked) return checked.error();
  for (std::string& warning : general_warnings(prepared.workload)) {
    prepared.warnings.push_back(std::move(warning));
  }
  return prepared;
}

namespace {

std::vector<std::string> lines_of(const PreparedCommand& command, const Machine& machine,
                                  const Knobs& knobs, const TrialPlace& place, bool whole) {
  const auto filled = fill_for(command.workload, machine, knobs, place);
  if (!filled) return {"# " + filled.error().what};
  std::vector<std::string> lines;
  std::string start;
  const std::string& directory = command.workload.directory;
  if (!directory.empty() && directory != real_path(".").value_or("")) {
    start = "cd " + shell_quote(directory) + " && ";
  }
  for (const auto& [name, value] : filled->environment) {
    if (whole || name != "PYTHONUNBUFFERED") start += name + "=" + shell_quote(value) + " ";
  }
  lines.push_back(start + shell_join(filled->arguments));
  if (!whole) return lines;
  for (auto line = filled->setup.rbegin(); line != filled->setup.rend(); ++line) {
    lines.insert(lines.begin(), shell_join(*line));
  }
  for (const auto& line : filled->cleanup) lines.push_back(shell_join(line));
  return lines;
}

}  // namespace

std::vector<std::string> dry_run_lines(const PreparedCommand& command, const Machine& machine,
                                       const Knobs& knobs) {
  return lines_of(command, machine, knobs, {"<trial_dir>", 29500}, true);
}

std::string launch_line(const PreparedCommand& command, const Machine& machine,
                        const Knobs& knobs) {
  PreparedCommand launch = command;
  if (!command.launch.empty()) launch.workload.command = command.launch;
  return lines_of(launch, machine, knobs, {"./run", 29500}, false)[0];
}

}  // namespace ocrtune
