// The launch leaves out what the search found to change nothing, and knobs that the given command
// does not take. A stored run keeps what its preset made of the command, since the config may
// change later.
#include "tuner/session/run_launch.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/observe/thread_runtimes.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_template.h"
#include "tuner/job/job_workload.h"
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

// The knobs that a search of the built-in core was about, as far as a command can be told them.
Result<std::vector<std::string>> knobs_of_core(const RunRecord& run) {
  const auto setup = OCRTUNE_TRY(tune_setup(run.job, run.search, run.machine));
  // Knobs that only the built-in core has.
  constexpr std::array<const char*, 3> kOfTheCore = {"precision", "backend", "queue"};
  std::set<std::string> names;
  for (const auto& [name, values] : run.search.axes) {
    if (run.search.lists(name)) names.insert(name);
  }
  for (const Axis& axis : setup.space.axes()) {
    if (axis.values.size() > 1) names.insert(axis.name);
  }
  // By its environment variables it reaches any program.
  names.insert("threads");
  for (const char* own : kOfTheCore) names.erase(own);
  std::vector<std::string> knobs(names.begin(), names.end());
  return knobs;
}

}  // namespace

std::vector<std::string> recommended_hosts(const RunRecord& run) {
  const auto nodes = static_cast<std::size_t>(nodes_of(run.result.recommendation.knobs));
  const auto& named = run.job.command_job().hosts;
  // A run of one host runs where it is started.
  if (nodes < 2 || named.size() < nodes) return {};
  return {named.begin(), named.begin() + static_cast<std::ptrdiff_t>(nodes)};
}

SeenOfProgram seen_of_program(const RunRecord& run) {
  SeenOfProgram seen;
  for (const Trial& trial : run.trials) {
    seen.runtimes.insert(trial.threads.runtimes.begin(), trial.threads.runtimes.end());
  }
  seen.inert = run.result.inert_names();
  return seen;
}

void keep_prepared(Job& job, const SearchRequest& search, PreparedCommand prepared) {
  CommandWorkload launched = launch_workload(prepared);
  UserCommandOptions& user = *job.user();
  user.launch = std::move(launched.command);
  user.launch_gpus = prepared.workload.gpus;
  user.evaluation_steps = prepared.evaluation_steps.value_or(-1);
  user.command.environment = std::move(launched.environment);  // the preset's variables too
  user.ready = std::make_shared<const ReadyCommand>(
      ReadyCommand{command_workload(job, search), std::move(prepared)});
}

bool had_in_force(const RunRecord& run, const std::string& name) {
  const Job& job = run.job;
  constexpr std::array<const char*, 4> kAlways = {"nproc", "threads", "binding", "nodes"};
  if (job.command().empty() || run.search.lists(name) || std::ranges::count(kAlways, name) > 0) {
    return true;
  }
  const CommandWorkload workload = kept_workload(user_command(job, run.search));
  return !workload.preset.empty() || names_used(workload).contains(name);
}

Result<LaunchSetting> launch_setting(const RunRecord& run, const std::vector<std::string>& command,
                                     const Machine& machine) {
  LaunchSetting setting;
  setting.knobs = run.result.recommendation.knobs;
  Job job = run.job;
  const bool of_core = job.command().empty();
  if (command.empty()) {
    if (of_core) {
      return Error{
          ErrorKind::usage,
          "run " + run.id + " tuned the built-in core: name the command to launch after --"};
    }
  } else {
    // A run of the built-in core has no command: the given one makes it a command's job.
    if (job.user() == nullptr) job.kind = CommandJob();
    UserCommandOptions& user = *job.user();
    user.command.command = command;
    user.launch.clear();
    std::string& preset = user.command.preset;
    if (preset.empty() && is_paddle_ocr(command)) preset = "paddleocr";
  }
  setting.workload = kept_workload(user_command(job, run.search));
  CommandWorkload& workload = setting.workload;
  if (command.empty()) leave_out(workload, seen_of_program(run).inert);
  if (of_core) {
    workload.knobs = OCRTUNE_TRY(knobs_of_core(run));
    workload.fixed.clear();
  }
  if (setting.knobs.nproc == 1 && !starts_ranks(workload.command)) {
    std::erase(workload.knobs, "nproc");  // a plain command is one process
  }
  workload = launch_workload(OCRTUNE_TRY(prepare_launch(workload, machine)));
  // It has done its work: launch_workload() holds what it makes.
  workload.preset.clear();
  return setting;
}

}  // namespace ocrtune
