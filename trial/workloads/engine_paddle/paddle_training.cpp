// Only the launcher's command is made here; the networks are JSON files that the build wrote with
// graph_dump. What Paddle's script does not have is an error before any trial.
#include "trial/workloads/engine_paddle/paddle_training.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "core/models/model.h"

namespace ocrtune {
namespace {

// Beside the installed program's folder, or in the build folder.
std::string engine_folder() {
  const std::string here = parent_path(own_program());
  const std::string installed = join_path(parent_path(here), "share/ocrtune/paddle");
  return path_exists(installed) ? installed : join_path(here, "share/ocrtune/paddle");
}

Status check_workload(const TrainingWorkload& workload) {
  if (find_model(workload.model) == nullptr) {
    return Error{ErrorKind::usage,
                 "no model " + workload.model + " to train in Paddle (see ocrtune list models)"};
  }
  // A queue depth of 2 is the default of TrainingWorkload: another value was asked for.
  const char* flag = !workload.heights.empty()    ? "--heights"
                     : workload.width_buckets > 0 ? "--width-buckets"
                     : workload.queue_depth != 2  ? "--queue-depth"
                                                  : nullptr;
  if (flag != nullptr) {
    return Error{
        ErrorKind::usage,
        fmt::format("{} is for the built-in engine; leave it out with --engine paddle", flag)};
  }
  if (ends_with(workload.label_file, ".mdb")) {
    return Error{ErrorKind::usage,
                 "--engine paddle reads a label file, not an LMDB: " + workload.label_file};
  }
  return Status();
}

}  // namespace

Result<std::vector<std::string>> training_in_paddle(const TrainingWorkload& workload,
                                                    const std::string& python) {
  OCRTUNE_TRY(check_workload(workload));
  const std::string folder = engine_folder();
  const std::string script = join_path(folder, "paddle_engine.py");
  const std::string network = join_path(folder, workload.model + ".json");
  for (const std::string& path : {script, network}) {
    if (!path_exists(path)) {
      return Error{ErrorKind::missing,
                   "--engine paddle needs " + path + ": install ocrtune with its share/ folder"};
    }
  }
  std::vector<std::string> command = {python,
                                      "-m",
                                      "paddle.distributed.launch",
                                      "--nproc_per_node={nproc}",
                                      "--log_dir={trial_dir}/log",
                                      script,
                                      network,
                                      fmt::format("--height={}", workload.height),
                                      fmt::format("--width={}", workload.width),
                                      "--batch={batch}",
                                      "--seed={seed}",
                                      "--rate-factor={rate_factor}"};
  // Without a label file the script trains on one batch of its own, and no loader works.
  if (!workload.label_file.empty()) {
    command.insert(command.end(), {"--workers={workers}", "--lines=" + workload.label_file});
  }
  return command;
}

}  // namespace ocrtune
