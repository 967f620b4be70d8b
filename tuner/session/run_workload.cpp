#include "tuner/session/run_workload.h"

#include <algorithm>

#include "base/text.h"
#include "trial/workloads/engine_infer/engine_inference.h"
#include "trial/workloads/engine_infer/user_service.h"
#include "trial/workloads/engine_train/engine_training.h"

namespace ocrtune {
namespace {

EngineTrainingOptions training_of(const RunOptions& options) {
  EngineTrainingOptions engine;
  engine.training = training_workload(options);
  engine.lines = options.lines;
  engine.widest_bucket = options.widest_bucket;
  engine.gpus = options.gpus;
  engine.tensor_cores = options.tensor_cores;
  return engine;
}

InferenceWorkload inference_of(const RunOptions& options) {
  InferenceWorkload inference;
  inference.model = options.model;
  inference.checkpoint = options.checkpoint;
  inference.alphabet = options.alphabet;
  inference.height = options.height;
  inference.width = options.width;
  inference.place = options.place;
  inference.url = options.url;
  inference.inputs = options.inputs;
  inference.metrics = options.server_metrics;
  inference.present = options.baseline;
  inference.truth = options.truth;
  inference.max_change = options.max_change;
  inference.slo = options.slo;
  inference.trace = options.trace;
  inference.gpus = options.gpus;
  return inference;
}

// A knob that the user pins to the value of the start is to be set there as well.
bool asked_to_set(const RunOptions& options) {
  return std::any_of(options.given.begin(), options.given.end(), [&](const std::string& name) {
    const auto list = options.axes.find(name);
    return list != options.axes.end() && list->second.size() == 1 &&
           list->second[0] == knob_text(options.baseline, name);
  });
}

}  // namespace

TrainingWorkload training_workload(const RunOptions& options) {
  TrainingWorkload training;
  training.model = options.model;
  training.label_file = options.label_file;
  training.height = options.height;
  training.width = options.width;
  training.heights = options.heights;
  training.width_buckets = options.width_buckets;
  training.queue_depth = options.queue_depth;
  training.classes = options.classes;
  return training;
}

std::unique_ptr<const Workload> workload_of(const RunOptions& options) {
  if (options.prints()) return make_user_command(user_command(options));
  if (!options.infers()) return make_engine_training(training_of(options));
  const bool engine = options.command.empty() && options.url.empty();
  return engine ? make_engine_inference(inference_of(options), options.classes)
                : make_user_service(inference_of(options), user_command(options));
}

CommandWorkload command_workload(const RunOptions& options) {
  CommandWorkload workload;
  workload.serves = options.serves();
  workload.rehearses = options.rehearses;
  workload.command = options.command;
  workload.directory = options.directory;
  workload.environment = options.environment;
  workload.inherited = options.inherited;
  if (!options.setup.empty()) workload.setup = split(options.setup, '\n');
  if (!options.cleanup.empty()) workload.cleanup = split(options.cleanup, '\n');
  workload.log_reader = options.log_reader;
  workload.metric = options.metric;
  if (!options.metric_of.empty()) workload.per_rank = options.metric_of == "rank";
  workload.log_file = options.log_file;
  workload.preset = options.preset;
  workload.present = options.baseline;
  workload.as_typed = options.baseline_source == kBaselineRead && !asked_to_set(options);
  workload.answers = options.answers;
  workload.truth = options.truth;
  workload.max_change = options.max_change;
  for (const auto& [name, values] : options.axes) {
    // One value that is also the baseline's only says that the knob stays as the command has it.
    const bool pinned = values.size() == 1 && values[0] == knob_text(options.baseline, name);
    if (!pinned || options.given.count(name) != 0) workload.knobs.push_back(name);
    if (values.size() == 1) workload.fixed.push_back(name);
  }
  // Once a command is settled, what it does not turn is pinned: a knob without values has ours.
  for (const KnobRow& row : knob_table()) {
    if (options.axes.count(row.name) == 0) workload.knobs.emplace_back(row.name);
  }
  return workload;
}

UserCommandOptions user_command(const RunOptions& options) {
  UserCommandOptions user;
  user.command = command_workload(options);
  user.launch = options.launch;
  user.launch_gpus = options.launch_gpus;
  user.gpus = options.command_gpus;
  user.trains = !options.infers();
  user.batch = options.baseline.batch;
  user.label_file = options.label_file;
  user.lines = options.lines;
  return user;
}

}  // namespace ocrtune
