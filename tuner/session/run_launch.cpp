#include "tuner/session/run_launch.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/workloads/command/command_prepare.h"
#include "tuner/session/tune_setup.h"

namespace ocrtune {
namespace {

bool has_word(const std::vector<std::string>& command, std::string_view part) {
  return std::any_of(command.begin(), command.end(),
                     [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

bool starts_ranks(const std::vector<std::string>& command) {
  return has_word(command, "nproc") || has_word(command, "paddle.distributed.launch") ||
         has_word(command, "torchrun") || has_word(command, "torch.distributed");
}

// PaddleOCR's tools/train.py takes knobs by its preset.
bool is_paddle_ocr(const std::vector<std::string>& command) {
  const bool config = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word == "-c" || word == "--config" || starts_with(word, "--config=");
  });
  return config && std::any_of(command.begin(), command.end(), [](const std::string& word) {
           return ends_with(word, "tools/train.py");
         });
}

// Devices by UUID in front, so that Paddle's ids count within what is visible.
Launch paddle_gpu_launch(const RunOptions& options, const Knobs& knobs) {
  Launch launch;
  launch.environment = knob_environment(knobs);
  std::vector<std::string> uuids = options.gpus, ids;
  uuids.resize(std::min(uuids.size(), static_cast<std::size_t>(knobs.nproc)));
  for (std::size_t i = 0; i < uuids.size(); ++i) ids.push_back(fmt::format("{}", i));
  set_variable(launch.environment, "CUDA_VISIBLE_DEVICES", join(uuids, ","));
  launch.arguments = {"python",
                      "-m",
                      "paddle.distributed.launch",
                      "--gpus",
                      join(ids, ","),
                      "tools/train.py",
                      "-c",
                      "CONFIG.yml",
                      "-o",
                      "Global.use_gpu=true",
                      fmt::format("Train.loader.batch_size_per_card={}", knobs.batch),
                      fmt::format("Train.loader.num_workers={}", knobs.workers)};
  if (knobs.precision == "bf16") {
    launch.arguments.insert(launch.arguments.end(),
                            {"Global.use_amp=true", "Global.amp_dtype=bfloat16"});
  }
  return launch;
}

// Bound as the core's ranks were, where they were.
PreparedCommand paddle_on_cpus() {
  PreparedCommand prepared;
  prepared.workload.command = {"python",
                               "-m",
                               "paddle.distributed.launch",
                               "--nproc_per_node={nproc}",
                               "tools/train.py",
                               "-c",
                               "CONFIG.yml",
                               "-o",
                               "Global.use_gpu=false",
                               "Train.loader.batch_size_per_card={batch}",
                               "Train.loader.num_workers={workers}"};
  for (const KnobRow& row : knob_table()) prepared.workload.knobs.emplace_back(row.name);
  return prepared;
}

// The command as it was kept, with its preset worked in.
CommandWorkload kept_workload(const RunOptions& options) {
  CommandWorkload workload = command_workload(options);
  if (options.launch.empty()) return workload;
  workload.command = options.launch;
  workload.gpus = options.launch_gpus;
  workload.preset.clear();
  return workload;
}

// The knobs that a search of the built-in core was about, as far as a command can be told them.
Result<std::vector<std::string>> knobs_of_core(const RunRecord& run) {
  const auto setup = OCRTUNE_TRY(tune_setup(run.options, run.machine));
  constexpr std::array<const char*, 3> kOfTheCore = {"precision", "backend", "queue"};
  std::set<std::string> names = run.options.given;
  for (const Axis& axis : setup.space.axes()) {
    if (axis.values.size() > 1) names.insert(axis.name);
  }
  names.insert("threads");
  for (const char* own : kOfTheCore) names.erase(own);
  std::vector<std::string> knobs(names.begin(), names.end());
  return knobs;
}

}  // namespace

Status keep_launch(RunOptions& options, const Machine& machine) {
  if (options.command.empty()) return Status();
  const auto prepared = OCRTUNE_TRY(prepare_command(command_workload(options), machine));
  options.launch = launch_workload(prepared).command;
  options.launch_gpus = prepared.workload.gpus;
  return Status();
}

Result<Launch> recommended_launch(const RunOptions& options, const Machine& machine,
                                  const Knobs& knobs) {
  PreparedCommand prepared;
  if (!options.command.empty()) {
    prepared.workload = kept_workload(options);
    if (!prepared.workload.preset.empty()) {  // stored before the preset's work was kept
      prepared = OCRTUNE_TRY(prepare_launch(prepared.workload, machine));
    }
  }
  if (options.infers() && (options.command.empty() || options.serves())) {
    RunOptions bare = options;
    bare.command.clear();
    auto workload = OCRTUNE_TRY(inference_workload(bare, machine));
    workload.command = prepared;
    return infer_launch(workload, machine, knobs);
  }
  if (!options.command.empty()) return launch_of(prepared, machine, knobs);
  if (options.on_gpus()) return paddle_gpu_launch(options, knobs);
  return launch_of(paddle_on_cpus(), machine, knobs);
}

std::string launch_command(const RunOptions& options, const Machine& machine, const Knobs& knobs) {
  const auto launch = recommended_launch(options, machine, knobs);
  if (!launch) return "# " + launch.error().what;
  if (launch->arguments.empty()) return "# the server at " + options.url + ", as it runs";
  return launch_text(*launch);
}

Result<LaunchSetting> launch_setting(const RunRecord& run, const std::vector<std::string>& command,
                                     const Machine& machine) {
  LaunchSetting setting;
  setting.knobs = run.result.recommendation.knobs;
  RunOptions options = run.options;
  const bool of_core = options.command.empty();
  if (command.empty()) {
    if (of_core) {
      return Error{
          ErrorKind::usage,
          "run " + run.id + " tuned the built-in core: name the command to launch after --"};
    }
  } else {
    options.command = command;
    options.launch.clear();
    if (options.preset.empty() && is_paddle_ocr(command)) options.preset = "paddleocr";
  }
  setting.workload = kept_workload(options);
  CommandWorkload& workload = setting.workload;
  if (of_core) {
    auto knobs = OCRTUNE_TRY(knobs_of_core(run));
    workload.knobs = std::move(knobs);
    workload.fixed.clear();
  }
  if (setting.knobs.nproc == 1 && !starts_ranks(workload.command)) {
    std::erase(workload.knobs, "nproc");  // a plain command is one process
  }
  const auto prepared = OCRTUNE_TRY(prepare_launch(workload, machine));
  workload = launch_workload(prepared);
  workload.preset.clear();
  return setting;
}

}  // namespace ocrtune
