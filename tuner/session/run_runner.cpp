#include "tuner/session/run_runner.h"

#include "base/files.h"
#include "trial/watch/control_kernel.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_runner.h"
#include "trial/workloads/engine_infer/infer_runner.h"
#include "trial/workloads/engine_train/gpu_runner.h"
#include "trial/workloads/engine_train/process_runner.h"
#include "tuner/session/tune_setup.h"
#include "tuner/space/default_space.h"

namespace ocrtune {
namespace {

constexpr double kControlSeconds = 0.02;

std::unique_ptr<Runner> controlled(std::unique_ptr<Runner> runner, const Machine& machine) {
  const int threads = usable_cpu_count(machine);
  return make_controlled_runner(
      std::move(runner), [threads]() { return control_kernel_rate(threads, kControlSeconds); });
}

// What the run was given and cannot be measured without.
Status check_files(const RunOptions& options) {
  std::vector<std::string> paths = options.inputs;
  paths.insert(paths.end(), {options.label_file, options.place, options.checkpoint, options.trace});
  for (const std::string& path : paths) {
    if (path.empty() || path_exists(path)) continue;
    return Error{ErrorKind::missing, "the run measures " + path + ", which is not there" +
                                         (path[0] == '/' ? "" : " (seen from this folder)")};
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(const RunOptions& options, const Machine& machine,
                                            double prove_per_second) {
  OCRTUNE_TRY(check_files(options));
  if (options.infers() && (options.command.empty() || options.serves())) {
    auto workload = OCRTUNE_TRY(inference_workload(options, machine));
    workload.prove_per_second = prove_per_second;
    return make_infer_runner(workload, machine);
  }
  if (options.command.empty()) {
    TrainingWorkload workload;
    workload.model = options.model;
    workload.label_file = options.label_file;
    workload.height = options.height;
    workload.width = options.width;
    workload.heights = options.heights;
    workload.width_buckets = options.width_buckets;
    workload.queue_depth = options.queue_depth;
    workload.classes = options.classes;
    if (options.on_gpus()) {
      GpuRunnerOptions gpus;
      gpus.gpus = options.gpus;
      return controlled(make_gpu_runner(workload, machine, gpus), machine);
    }
    return controlled(make_process_runner(workload, machine), machine);
  }
  const auto prepared = OCRTUNE_TRY(prepare_command(command_workload(options), machine));
  return controlled(make_command_runner(prepared, machine), machine);
}

}  // namespace ocrtune
