// Two commands are made of one: the launch has what the knobs need, the trial also what keeps it
// short and out of the user's folders. Settings that cannot work (more processes than data,
// /dev/shm too small) are refused by refuse() without a start.
#include "trial/workloads/command/paddleocr_preset.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/files.h"
#include "base/plural.h"
#include "base/process.h"
#include "base/text.h"
#include "trial/observe/gpu_names.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/flag_words.h"
#include "trial/workloads/command/paddleocr_config.h"

namespace ocrtune {
namespace {

using Overrides = ConfigOverrides;

constexpr const char* kPaddleLauncher = "paddle.distributed.launch";

bool has(const std::vector<std::string>& command, const std::string& text) {
  return std::any_of(command.begin(), command.end(), [&](const std::string& argument) {
    return argument.find(text) != std::string::npos;
  });
}

void set_launcher_flag(std::vector<std::string>& command, const std::string& name,
                       const std::string& value) {
  const bool there = flag_value(command, name) || has_place(command, {kPaddleLauncher});
  if (there) set_flag(command, name, value, {kPaddleLauncher});
}

std::string in_directory(const CommandWorkload& workload, const std::string& path) {
  return path.empty() || path[0] == '/' || workload.directory.empty()
             ? path
             : join_path(workload.directory, path);
}

// What the knobs mean in this program: also in the command that is recommended.
Overrides knob_overrides(const CommandWorkload& workload, const PaddleOcrConfig& config) {
  Overrides keys;
  if (turns(workload, "batch")) {
    keys.emplace_back("Train.loader.batch_size_per_card", "{batch}");
    if (config.has_sampler) keys.emplace_back("Train.sampler.first_bs", "{batch}");
  }
  if (turns(workload, "workers")) keys.emplace_back("Train.loader.num_workers", "{workers}");
  return keys;
}

// What only a short trial needs. Rank 0 saves the model after its evaluation.
Overrides trial_overrides(const PaddleOcrConfig& config, int print_interval, bool rehearses) {
  Overrides keys = {
      {"Global.print_batch_step", fmt::format("{}", print_interval)},
      // Never within a trial; a rehearsal evaluates after some steps.
      {"Global.eval_batch_step", fmt::format("[0,{}]", rehearses ? kRehearsalSteps : 100000000000)},
      // A trial must not come to the end of its epochs.
      {"Global.epoch_num", fmt::format("{}", std::max(config.epochs, 1000))},
      {"Global.save_epoch_step", "100000"},
      {"Global.save_model_dir", "{trial_dir}/output"}};
  if (config.evaluates_by_epoch) {
    keys.emplace_back("Global.eval_batch_epoch", rehearses ? "null" : "100000");
  }
  return keys;
}

std::optional<std::string> python_of(const std::vector<std::string>& command) {
  for (const std::string& argument : command) {
    const std::string name = base_name(argument);
    if (starts_with(name, "python")) return argument;
  }
  return std::nullopt;
}

// "paddlepaddle-gpu 2.6.1", "paddlepaddle 3.3.1", "" when neither is installed, or nothing when it
// cannot be asked.
std::optional<std::string> installed_paddle(const CommandWorkload& workload) {
  const auto python = python_of(workload.command);
  if (!python || python->find('{') != std::string::npos) return std::nullopt;
  ProcessOptions options;
  options.arguments = {*python, "-c",
                       "import importlib.metadata as m\n"
                       "for name in ('paddlepaddle-gpu', 'paddlepaddle'):\n"
                       "    try:\n"
                       "        print(name, m.version(name)); break\n"
                       "    except m.PackageNotFoundError: pass\n"};
  options.directory = workload.directory;
  auto process = Process::start(options);
  if (!process) return std::nullopt;
  // Twenty seconds (a guess): only metadata is read, but a cold disk may be slow.
  const auto exit = process->wait(20);
  if (!exit || !exit->clean()) return std::nullopt;
  return std::string(trim(process->output().contents()));
}

// Paddle's launcher starts one process for each of these, and without them for each visible GPU.
const std::vector<std::string> kDevices = {"--gpus", "--devices"};

// Where there is no GPU the launcher fails on the ones that are named.
void drop_devices(PreparedCommand& command, std::vector<std::string>& words) {
  const auto named = first_flag_value(words, kDevices);
  if (!named) return;
  for (const std::string& flag : kDevices) {
    const auto at = std::find(words.begin(), words.end(), flag);
    if (at != words.end() && at + 1 != words.end()) words.erase(at, at + 2);
    std::erase_if(words, [&](const std::string& word) { return starts_with(word, flag + "="); });
  }
  command.warnings.push_back("the launcher is given GPUs (" + *named +
                             ") and there is none: they are left out, for processes on CPUs");
}

// The GPUs that the command would use, as it names them; empty: it computes on CPUs.
std::vector<std::string> gpus_of(const CommandWorkload& workload, const PaddleOcrConfig& config,
                                 const Machine& machine) {
  if (!config.use_gpu || machine.gpus.empty()) return {};
  const auto named = first_flag_value(workload.command, kDevices);
  return named && named->find('{') == std::string::npos
             ? split(*named, ',')
             : visible_gpu_names(machine, process_environment());
}

void warn_of_gpus(std::vector<std::string>& warnings, const CommandWorkload& workload,
                  const std::optional<std::string>& paddle, const Machine& machine) {
  if (paddle && starts_with(*paddle, "paddlepaddle ")) {
    warnings.push_back(*paddle +
                       " is the CPU wheel, and the config asks for a GPU: PaddleOCR will "
                       "refuse it; install paddlepaddle-gpu, or add -o "
                       "Global.use_gpu=False");
  }
  const std::size_t visible = visible_gpu_names(machine, process_environment()).size();
  if (visible > 1 && !has(workload.command, kPaddleLauncher)) {
    warnings.push_back(
        fmt::format("the command uses one of {} visible GPUs; start it with python -m "
                    "paddle.distributed.launch and the others are tried too",
                    visible));
  }
}

void warn(PreparedCommand& command, const PaddleOcrConfig& config, const Machine& machine,
          int groups) {
  std::vector<std::string>& warnings = command.warnings;
  const bool cpu_only = machine.gpus.empty();
  const bool on_gpus = config.use_gpu && !cpu_only;
  if (groups > 1) {
    warnings.push_back(
        fmt::format("the command has {} -o groups, of which PaddleOCR reads the last only; they "
                    "are merged into one",
                    groups));
  }
  const auto paddle = installed_paddle(command.workload);
  if (cpu_only && paddle && starts_with(*paddle, "paddlepaddle-gpu")) {
    warnings.push_back(*paddle +
                       " is a CUDA wheel and there is no GPU here: several processes fail in "
                       "init_parallel_env; install paddlepaddle, the CPU wheel");
  }
  if (paddle && paddle->empty()) {
    warnings.emplace_back("paddlepaddle is not installed for this python");
  }
  if (cpu_only && config.use_gpu) {
    warnings.emplace_back(
        "the config asks for a GPU and there is none: Global.use_gpu=False is set");
  }
  if (cpu_only && config.use_amp) warnings.emplace_back("Global.use_amp does nothing on the CPU");
  if (on_gpus) warn_of_gpus(warnings, command.workload, paddle, machine);
  if (!on_gpus && std::getenv("OMP_NUM_THREADS") == nullptr) {
    warnings.emplace_back(
        "import paddle sets OMP_NUM_THREADS=1 unless it is set: without ocrtune each process "
        "computes on one thread");
  }
  const double shm = static_cast<double>(machine.memory.shm_bytes.value_or(0));
  const double need = shm_need_bytes(config, config.batch, config.workers);
  if (machine.memory.shm_bytes.known() && need > 0) {
    warnings.push_back(fmt::format(
        "each process keeps about {} in /dev/shm (batch {}, {}); it holds {}{}",
        format_bytes(static_cast<std::uint64_t>(need)), config.batch,
        how_many(config.workers, "worker"), format_bytes(static_cast<std::uint64_t>(shm)),
        need > shm ? ": too little (docker: --shm-size)" : ""));
  }
}

std::optional<Refusal> refuse(const CommandWorkload& workload, const PaddleOcrConfig& config,
                              double shm_bytes, const Knobs& knobs) {
  const int batch = turns(workload, "batch") ? knobs.batch : config.batch;
  const int workers = turns(workload, "workers") ? knobs.workers : config.workers;
  const int ranks = nodes_of(knobs) * knobs.nproc;
  if (config.lines > 0 && config.lines / ranks < batch) {
    return Refusal{Outcome::unsupported, "data",
                   fmt::format("{} for each of {} ({} in all): less than a "
                               "batch of {}",
                               how_many(config.lines / ranks, "training line"),
                               how_many(ranks, "process"), config.lines, batch)};
  }
  const double need = knobs.nproc * shm_need_bytes(config, batch, workers);
  if (shm_bytes > 0 && need > shm_bytes) {
    return Refusal{Outcome::out_of_memory, "predicted",
                   fmt::format("the loaders need about {} in /dev/shm, which holds {}",
                               format_bytes(static_cast<std::uint64_t>(need)),
                               format_bytes(static_cast<std::uint64_t>(shm_bytes)))};
  }
  return std::nullopt;
}

Knobs current_setting(const CommandWorkload& workload, const PaddleOcrConfig& config,
                      std::size_t gpus) {
  Knobs knobs;
  // The launcher starts one process for each GPU that is named or visible.
  if (has(workload.command, kPaddleLauncher)) knobs.nproc = std::max(1, static_cast<int>(gpus));
  knobs.batch = config.batch;
  knobs.workers = config.workers;
  const auto nproc = flag_value(workload.command, "--nproc_per_node");
  const auto count = nproc ? parse_integer(*nproc) : Result<std::int64_t>(Error());
  if (count && *count > 0 && *count < 100000) knobs.nproc = static_cast<int>(*count);
  const char* threads = std::getenv("OMP_NUM_THREADS");
  const auto team = threads != nullptr ? parse_integer(threads) : Result<std::int64_t>(Error());
  // Paddle's import sets one thread where the variable is not set.
  knobs.threads = team && *team > 0 && *team < 100000 ? static_cast<int>(*team) : 1;
  return knobs;
}

Status place_launcher(CommandWorkload& workload, std::vector<std::string>& command) {
  if (!has(command, kPaddleLauncher)) {
    if (!turns(workload, "nproc")) return Status();
    return Error{ErrorKind::usage,
                 "--nproc needs the launcher: python -m paddle.distributed.launch "
                 "--nproc_per_node={nproc} tools/train.py ...; without it leave --nproc out"};
  }
  if (turns(workload, "nodes")) {
    set_launcher_flag(command, "--nnodes", "{nodes}");
    set_launcher_flag(command, "--rank", "{node_rank}");
    set_launcher_flag(command, "--master", "{master_addr}:{master_port}");
  }
  if (!turns(workload, "nproc")) return Status();
  if (workload.gpus.empty()) {
    set_launcher_flag(command, "--nproc_per_node", "{nproc}");
  } else {
    // --gpus became --devices; the command's own spelling is kept.
    const bool newer = flag_value(command, kDevices[1]).has_value();
    set_launcher_flag(command, newer ? kDevices[1] : kDevices[0], "{gpus}");
    if (flag_value(command, "--nproc_per_node")) {
      set_launcher_flag(command, "--nproc_per_node", "{nproc}");
    }
  }
  return Status();
}

void set_key(Overrides& keys, const std::string& key, const std::string& value) {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const auto& one) { return one.first == key; });
  if (found != keys.end()) {
    found->second = value;
  } else {
    keys.emplace_back(key, value);
  }
}

// A command without its -o groups, and what these say: the later of two wins.
struct OverrideGroups {
  std::vector<std::string> rest;
  Overrides keys;
  int groups = 0;
  std::string malformed;  // the first item that PaddleOCR would not split into two at '='
};

OverrideGroups take_overrides(const std::vector<std::string>& command) {
  OverrideGroups found;
  const auto set = [&](const std::string& item) {
    const std::size_t equals = item.find('=');
    // PaddleOCR splits at '=' and takes exactly two parts.
    const bool good = equals != 0 && std::count(item.begin(), item.end(), '=') == 1;
    if (!good && found.malformed.empty()) found.malformed = item;
    set_key(found.keys, item.substr(0, equals),
            equals == std::string::npos ? "" : item.substr(equals + 1));
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool joined = starts_with(command[i], "--opt=");
    if (command[i] != "-o" && command[i] != "--opt" && !joined) {
      found.rest.push_back(command[i]);
      continue;
    }
    ++found.groups;
    if (joined) {
      set(command[i].substr(6));
      continue;
    }
    // argparse takes all words up to the next flag (nargs='+').
    while (i + 1 < command.size() && !starts_with(command[i + 1], "-")) set(command[++i]);
  }
  return found;
}

}  // namespace

std::vector<std::string> merge_overrides(const std::vector<std::string>& command,
                                         const Overrides& overrides, int* groups) {
  OverrideGroups found = take_overrides(command);
  for (const auto& [key, value] : overrides) set_key(found.keys, key, value);
  if (groups != nullptr) *groups = found.groups;
  if (found.keys.empty()) return found.rest;
  found.rest.emplace_back("-o");
  for (const auto& [key, value] : found.keys) found.rest.push_back(key + "=" + value);
  return found.rest;
}

Status apply_paddleocr_preset(PreparedCommand& command, const Machine& machine,
                              const KnobChoice& choose) {
  CommandWorkload& workload = command.workload;
  const auto path = first_flag_value(workload.command, {"-c", "--config"});
  if (!path) {
    return Error{ErrorKind::usage, "--preset paddleocr needs -c CONFIG.yml in the command"};
  }
  const OverrideGroups given = take_overrides(workload.command);
  if (!given.malformed.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("-o {}: PaddleOCR wants KEY=VALUE, with one '='", given.malformed)};
  }
  auto config =
      read_paddleocr_config(in_directory(workload, *path), workload.directory, given.keys);
  if (!config) return config.error();
  const Status files = look_for_paddleocr_files(*config, workload.directory);
  if (!files && files.error().kind == ErrorKind::missing) return files;
  if (!files) command.warnings.push_back(files.error().what);
  workload.gpus = gpus_of(workload, *config, machine);
  const bool on_gpus = !workload.gpus.empty();
  command.current = current_setting(workload, *config, workload.gpus.size());
  command.current_names = {"nproc", "threads", "batch", "workers"};
  command.turnable = {"batch", "workers"};
  // A number of threads that the user sets wins, and is no knob.
  const bool own_threads =
      std::any_of(workload.environment.begin(), workload.environment.end(),
                  [](const auto& one) { return one.first == "OMP_NUM_THREADS"; });
  if (!on_gpus && !own_threads) command.turnable.emplace_back("threads");
  if (has(workload.command, kPaddleLauncher)) {
    command.turnable.insert(command.turnable.end(), {"nproc", "binding"});
    if (workload.gpus.size() > 1) command.turnable.emplace_back("p2p");
  }
  if (on_gpus)
    command.gpus =
        has(workload.command, kPaddleLauncher) ? static_cast<int>(workload.gpus.size()) : 1;
  if (choose) OCRTUNE_TRY(choose(command));
  std::vector<std::string> base = workload.command;
  if (machine.gpus.empty()) drop_devices(command, base);
  OCRTUNE_TRY(place_launcher(workload, base));

  Overrides keys = knob_overrides(workload, *config);
  if (machine.gpus.empty() && config->use_gpu) keys.emplace_back("Global.use_gpu", "False");
  int groups = 0;
  command.launch = merge_overrides(base, keys, &groups);
  // A sampler changes the batch from step to step: a line must cover several of its scales.
  const int interval = config->has_sampler ? 6 : 2;
  command.print_interval = interval;
  if (config->has_evaluation) {
    command.evaluation_steps = config->evaluates_by_epoch ? 0 : config->evaluation_steps;
  }
  for (auto& key : trial_overrides(*config, interval, workload.rehearses))
    keys.push_back(std::move(key));
  if (has(base, kPaddleLauncher)) {
    if (const auto own = flag_value(base, "--log_dir"); own && *own != "{trial_dir}/log") {
      command.warnings.push_back("trials write their logs to folders of their own, not to " + *own);
    }
    set_launcher_flag(base, "--log_dir", "{trial_dir}/log");
    // Rank 0's log, which the launcher writes in place of printing it.
    if (workload.log_file.empty()) workload.log_file = "{trial_dir}/log/workerlog.0";
  }
  workload.command = merge_overrides(base, keys, nullptr);
  if (workload.log_reader.empty()) workload.log_reader = "paddleocr";
  warn(command, *config, machine, groups);
  const double shm = static_cast<double>(machine.memory.shm_bytes.value_or(0));
  command.refuse = [workload, config = *config, shm](const Knobs& knobs) {
    return refuse(workload, config, shm, knobs);
  };
  return Status();
}

}  // namespace ocrtune
