#include "tuner/run_runner.h"

#include "bench/command_prepare.h"
#include "bench/command_runner.h"
#include "bench/process_runner.h"

namespace ocrtune {

Result<std::unique_ptr<Runner>> make_runner(const RunOptions& options, const Machine& machine) {
  if (options.command.empty()) {
    TrainingWorkload workload;
    workload.model = options.model;
    workload.label_file = options.label_file;
    workload.height = options.height;
    workload.width = options.width;
    workload.classes = options.classes;
    return make_process_runner(workload, machine);
  }
  CommandWorkload workload;
  workload.command = options.command;
  if (!options.setup.empty()) workload.setup = {options.setup};
  if (!options.cleanup.empty()) workload.cleanup = {options.cleanup};
  workload.preset = options.preset;
  workload.log_reader = options.log_reader;
  for (const auto& [name, values] : options.axes) workload.knobs.push_back(name);
  const auto prepared = prepare_command(workload, machine);
  if (!prepared) return prepared.error();
  return make_command_runner(*prepared, machine);
}

}  // namespace ocrtune
