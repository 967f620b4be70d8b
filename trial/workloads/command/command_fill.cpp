// Trial, dry run, recommended line and `ocrtune run` all come through fill_for(), so that what was
// measured is what is told. Placeholders first, then the knobs' variables, then what the user's
// --env says, which wins. The copies of {gpu} and {copy} are left to rank-exec.
#include "trial/workloads/command/command_fill.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "probes/placement/partition.h"
#include "trial/answers/answer_places.h"
#include "trial/malloc_environment.h"
#include "trial/observe/gpu_names.h"
#include "trial/observe/rank_binding.h"
#include "trial/observe/thread_runtimes.h"
#include "trial/workloads/command/command_template.h"

namespace ocrtune {
namespace {

struct Launcher {
  std::size_t at = 0;  // of its name in the command
  bool torch = false;
  std::string python;
};

// The interpreter that the first line of a script names.
std::string interpreter_of(const std::string& script) {
  const auto path = find_executable(script);
  if (!path) return "";
  const std::string text = read_file(*path, 512).value_or("");
  if (!starts_with(text, "#!")) return "";
  const std::vector<std::string> line = words(text.substr(2, text.find('\n') - 2));
  if (line.empty()) return "";
  // "#!/usr/bin/env python3": the interpreter is env's argument.
  return base_name(line[0]) == "env" && line.size() > 1 ? line[1] : line[0];
}

std::optional<Launcher> find_launcher(const std::vector<std::string>& command) {
  static constexpr std::array<const char*, 3> kModules = {
      "paddle.distributed.launch", "torch.distributed.run", "torch.distributed.launch"};
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (base_name(command[i]) == "torchrun") {
      return Launcher{i, true, interpreter_of(command[i])};
    }
    if (i == 0 || command[i - 1] != "-m") continue;
    if (std::find(kModules.begin(), kModules.end(), command[i]) == kModules.end()) continue;
    // The nearest python in front of -m, since the command may begin with numactl or another
    // wrapper.
    for (std::size_t before = i - 1; before-- > 0;) {
      if (starts_with(base_name(command[before]), "python")) {
        return Launcher{i, starts_with(command[i], "torch"), command[before]};
      }
    }
  }
  return std::nullopt;
}

// The first `nproc` names of `gpus`, fewer where there are no more; for copies of a command again
// from the first.
std::string gpus_text(const std::vector<std::string>& gpus, int nproc, bool copies) {
  std::size_t count = static_cast<std::size_t>(std::max(nproc, 1));
  // A launcher's {gpus} never names a GPU twice; copies may share one.
  if (gpus.empty() || !copies) count = std::min(gpus.size(), count);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(gpus[i % gpus.size()]);
  return join(names, ",");
}

std::map<std::string, std::string> values_of(const Knobs& knobs, const TrialPlace& place) {
  std::map<std::string, std::string> values = knobs.dims;
  for (const KnobRow& row : knob_table()) values[row.name] = knob_text(knobs, row.name);
  values["trial_dir"] = place.trial_dir;
  values["port"] = fmt::format("{}", place.port);
  // A dimension `nodes` of the user's stays.
  values.emplace("nodes", "1");
  values["global_batch"] = fmt::format("{}", global_batch(knobs));
  values["node_rank"] = place.node_rank;
  values["master_addr"] = place.master_addr;
  values["master_port"] = place.master_port.empty() ? values["port"] : place.master_port;
  values["hostlist"] = join(place.hosts, ",");
  return values;
}

Result<std::vector<std::vector<std::string>>> fill_lines(
    const std::vector<std::string>& lines, const std::map<std::string, std::string>& values) {
  std::vector<std::vector<std::string>> filled;
  for (const std::string& line : lines) {
    const auto words = OCRTUNE_TRY(split_command(line));
    auto one = OCRTUNE_TRY(fill_command(words, values));
    if (!one.empty()) filled.push_back(std::move(one));
  }
  return filled;
}

std::string starter_of(const CommandWorkload& workload) {
  return workload.starter.empty() ? own_program() : workload.starter;
}

// {rank_exec} is three arguments, which no text can be.
std::vector<std::string> with_rank_exec(const CommandWorkload& workload) {
  std::vector<std::string> expanded;
  for (const std::string& argument : workload.command) {
    if (argument == "{rank_exec}") {
      expanded.insert(expanded.end(), {starter_of(workload), "rank-exec", "--"});
    } else {
      expanded.push_back(argument);
    }
  }
  return expanded;
}

// With each rank on its mask: by the user's {rank_exec}, by a launcher that is known, or, where one
// process is all there is, around the command. Other launchers' ranks are bound from outside.
std::vector<std::string> bound(const CommandWorkload& workload, std::vector<std::string> arguments,
                               int nproc) {
  const auto& command = workload.command;
  if (std::find(command.begin(), command.end(), "{rank_exec}") != command.end()) return arguments;
  const auto started = with_rank_starter(arguments, starter_of(workload));
  if (started) return *started;
  if (nproc == 1) {
    const std::vector<std::string> starter = {starter_of(workload), "rank-exec", "--"};
    arguments.insert(arguments.begin(), starter.begin(), starter.end());
  }
  return arguments;
}

// Whatever pool the program computes in. What the user hands on from the own environment stays.
void set_thread_variables(const CommandWorkload& workload, int threads, Launch& launch) {
  for (const ThreadRuntime& runtime : thread_runtime_table()) {
    const std::string name = runtime.variable;
    const auto among = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (name.empty() || among(workload.inherited) || among(workload.unread)) continue;
    set_variable(launch.environment, name, fmt::format("{}", threads));
  }
}

void set_knob_variables(const CommandWorkload& workload, const Knobs& knobs, Launch& launch) {
  for (const auto& [name, value] : knob_environment(knobs)) {
    // Without a knob for threads the command's own number stays in force.
    if (name != "OMP_NUM_THREADS" || turns(workload, "threads")) {
      set_variable(launch.environment, name, value);
    }
  }
  if (turns(workload, "threads")) set_thread_variables(workload, knobs.threads, launch);
}

}  // namespace

int nodes_of(const Knobs& knobs) {
  const auto nodes = parse_integer(knob_text(knobs, "nodes"));
  return nodes && *nodes > 0 && *nodes < 1'000'000 ? static_cast<int>(*nodes) : 1;
}

std::int64_t global_batch(const Knobs& knobs) {
  return std::int64_t{1} * nodes_of(knobs) * knobs.nproc * knobs.batch * knobs.accumulate;
}

Knobs on_nodes(Knobs knobs, int nodes) {
  const auto found = knobs.dims.find("nodes");
  if (found != knobs.dims.end()) found->second = fmt::format("{}", nodes);
  return knobs;
}

std::string plain_host(const std::string& name) { return name.substr(name.find('@') + 1); }

TrialPlace host_place(const std::vector<std::string>& hosts, int node_rank, int nodes) {
  TrialPlace place;
  if (nodes < 2) return place;
  place.node_rank = fmt::format("{}", node_rank);
  place.hosts.assign(hosts.begin(), hosts.begin() + nodes);
  for (std::string& host : place.hosts) host = plain_host(host);
  place.master_addr = place.hosts.front();
  return place;
}

TrialPlace any_host() {
  TrialPlace place;
  place.node_rank = "<NODE_RANK>";
  place.master_addr = "<MASTER_ADDR>";
  place.hosts = {"<HOSTLIST>"};
  return place;
}

std::set<std::string> names_used(const CommandWorkload& workload) {
  std::set<std::string> names;
  const auto add = [&](const std::string& text) {
    for (std::string& name : placeholder_names(text)) names.insert(std::move(name));
  };
  for (const std::string& argument : workload.command) add(argument);
  for (const std::string& line : workload.setup) add(line);
  for (const auto& [name, value] : workload.environment) add(value);
  if (names.count("global_batch") != 0) names.insert({"nproc", "batch", "accumulate"});
  // A dimension of that name makes it a value like any other.
  const bool copied = names.count("copy") != 0 && !turns(workload, "copy");  // no --dim copy=
  if (names.count("gpus") != 0 || names.count("gpu") != 0 || copied) names.insert("nproc");
  if (names.count("hostlist") != 0) names.insert("nodes");
  return names;
}

bool starts_other_hosts(const CommandWorkload& workload) {
  const std::set<std::string> used = names_used(workload);
  return used.contains("hostlist") && !used.contains("node_rank") && !used.contains("master_addr");
}

bool turns(const CommandWorkload& workload, const std::string& knob) {
  return std::find(workload.knobs.begin(), workload.knobs.end(), knob) != workload.knobs.end();
}

bool copies_take_gpus(const CommandWorkload& workload) {
  return names_used(workload).count("gpu") != 0 && !turns(workload, "gpu");  // no --dim gpu=
}

bool starts_copies(const CommandWorkload& workload) {
  return copies_take_gpus(workload) ||
         (names_used(workload).count("copy") != 0 && !turns(workload, "copy"));
}

bool times_whole_runs(const CommandWorkload& workload) {
  return workload.log_reader.substr(0, workload.log_reader.find(':')) == "runs";
}

namespace {

// `ocrtune rank-exec` starts the copies and fills {gpu} and {copy}.
void start_copies(const CommandWorkload& workload, const std::string& gpus, int nproc,
                  Launch& launch) {
  const bool on_gpus = copies_take_gpus(workload);
  const std::vector<std::string> starter = {starter_of(workload), "rank-exec",
                                            on_gpus ? "--copies-on" : "--copies",
                                            on_gpus ? gpus : fmt::format("{}", nproc), "--"};
  launch.arguments.insert(launch.arguments.begin(), starter.begin(), starter.end());
  std::erase_if(launch.environment, [](const auto& variable) {
    return variable.first == "CUDA_VISIBLE_DEVICES" && variable.second == "{gpu}";
  });
}

}  // namespace

Result<FilledCommand> fill_for(const CommandWorkload& workload, const Machine& machine,
                               const Knobs& knobs, const TrialPlace& place) {
  const std::set<std::string> used = names_used(workload);
  // The processes of several hosts would wait for each other at this machine's own address.
  const bool meets = used.contains("node_rank") || used.contains("master_addr");
  if (nodes_of(knobs) > 1 && meets && place.master_addr == TrialPlace().master_addr) {
    return Error{
        ErrorKind::usage,
        fmt::format("nodes={}: several hosts have to be named with --hosts", nodes_of(knobs))};
  }
  auto values = values_of(knobs, place);
  values.emplace("seed", fmt::format("{}", workload.learning.seed));  // but for --dim seed=
  values.emplace("rate_factor", fmt::format("{:.6g}", workload.learning.rate_factor));
  const bool copies = starts_copies(workload);
  // rank-exec fills these two for each copy, so they stay as they are.
  if (copies) values["copy"] = "{copy}";
  if (copies_take_gpus(workload)) values["gpu"] = "{gpu}";
  values["gpus"] = gpus_text(
      workload.gpus.empty() ? visible_gpu_names(machine, process_environment()) : workload.gpus,
      knobs.nproc, copies_take_gpus(workload));
  FilledCommand filled;
  auto arguments = OCRTUNE_TRY(fill_command(with_rank_exec(workload), values));
  Launch& launch = filled.launch;
  launch.arguments = std::move(arguments);
  launch.directory = workload.directory;
  filled.setup = OCRTUNE_TRY(fill_lines(workload.setup, values));
  filled.cleanup = OCRTUNE_TRY(fill_lines(workload.cleanup, values));
  const auto from_its_folder = [&](const std::string& path) {
    const bool relative = !path.empty() && path.front() != '/' && !workload.directory.empty();
    return relative ? join_path(workload.directory, path) : path;
  };
  filled.log_file = from_its_folder(OCRTUNE_TRY(fill_placeholders(workload.log_file, values)));
  const AnswerPlaces places = OCRTUNE_TRY(AnswerPlaces::parse(workload.answers));
  for (const std::string& file : places.files) {
    filled.answer_files.push_back(from_its_folder(OCRTUNE_TRY(fill_placeholders(file, values))));
  }
  // The present start is measured as the user typed it, without our variables.
  const bool typed = workload.as_typed && workload.present == knobs;
  if (!typed) set_knob_variables(workload, knobs, launch);
  if (turns(workload, "binding") && knobs.binding != "none") {
    filled.masks =
        OCRTUNE_TRY(partition_cpus(machine.cpu, knobs.nproc, knobs.threads, knobs.binding));
    set_variable(launch.environment, kRankCpusVariable, rank_cpus_text(filled.masks));
    if (copies) {
      filled.masks.clear();  // each copy is started on its own
    } else {
      launch.arguments = bound(workload, std::move(launch.arguments), knobs.nproc);
    }
  }
  const std::string preload = preload_of(knobs.malloc);
  // A library that was not found has its bare name here.
  if (!preload.empty() && preload[0] != '/') {
    return Error{ErrorKind::missing,
                 fmt::format("malloc={}: {} is not installed here", knobs.malloc, preload)};
  }
  for (const auto& [name, value] : workload.environment) {
    auto text = OCRTUNE_TRY(fill_placeholders(value, values));
    // The user's own LD_PRELOAD stays, with the allocator's library behind it.
    const bool both = name == "LD_PRELOAD" && !preload.empty();
    set_variable(launch.environment, name, both ? with_preload(text, preload) : text);
  }
  if (copies) start_copies(workload, values["gpus"], knobs.nproc, launch);
  return filled;
}

std::optional<std::vector<std::string>> with_rank_starter(const std::vector<std::string>& command,
                                                          const std::string& starter) {
  const auto launcher = find_launcher(command);
  if (!launcher || launcher->python.empty()) return std::nullopt;
  auto script = command.begin() + static_cast<std::ptrdiff_t>(launcher->at) + 1;
  // Options of the launcher may stand between its name and the script.
  while (script != command.end() && (starts_with(*script, "-") || !ends_with(*script, ".py"))) {
    if (*script == "-m" || *script == "--module" || *script == "--no_python" ||
        *script == "--no-python") {
      return std::nullopt;
    }
    ++script;
  }
  if (script == command.end()) return std::nullopt;
  std::vector<std::string> started(command.begin(), script);
  // torchrun starts the script by its own Python unless it is told not to.
  if (launcher->torch) started.emplace_back("--no_python");
  // Unbuffered, as these launchers start Python themselves: lines come when they are printed.
  started.insert(started.end(), {starter, "rank-exec", "--", launcher->python, "-u"});
  started.insert(started.end(), script, command.end());
  return started;
}

}  // namespace ocrtune
