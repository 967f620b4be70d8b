#include "tuner/run_runner.h"

#include "bench/command_prepare.h"
#include "bench/command_runner.h"
#include "bench/infer_runner.h"
#include "bench/process_runner.h"
#include "tuner/tune_setup.h"

namespace ocrtune {

Result<std::unique_ptr<Runner>> make_runner(const RunOptions& options, const Machine& machine) {
  if (options.infers() && (options.command.empty() || options.serves())) {
    const auto workload = inference_workload(options, machine);
    if (!workload) return workload.error();
    return make_infer_runner(*workload, machine);
  }
  if (options.command.empty()) {
    TrainingWorkload workload;
    workload.model = options.model;
    workload.label_file = options.label_file;
    workload.height = options.height;
    workload.width = options.width;
    workload.classes = options.classes;
    return make_process_runner(workload, machine);
  }
  const auto prepared = prepare_command(command_workload(options), machine);
  if (!prepared) return prepared.error();
  return make_command_runner(*prepared, machine);
}

}  // namespace ocrtune
