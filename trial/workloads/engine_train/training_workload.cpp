// A rank's specification is the workload with the knobs put in. A trial that learns is another
// training: no warm-up, its own seed and learning rate.
#include "trial/workloads/engine_train/training_workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace ocrtune {

WorkerSpec rank_spec(const TrainingWorkload& workload, const Knobs& knobs, int rank) {
  WorkerSpec spec;
  spec.model = workload.model;
  spec.backend = knobs.backend;
  spec.precision = knobs.precision;
  spec.threads = knobs.threads;
  spec.batch = knobs.batch;
  spec.accumulate = knobs.accumulate;
  spec.height = workload.height;
  spec.width = workload.width;
  spec.heights = workload.heights;
  spec.width_buckets = workload.width_buckets;
  spec.queue_depth = workload.queue_depth;
  spec.bucket_kib = workload.bucket_kib;
  spec.classes = workload.classes;
  spec.learning_rate = workload.learning_rate;
  spec.seed = workload.seed;
  spec.label_file = workload.label_file;
  spec.alphabet = workload.alphabet;
  spec.loader_workers = knobs.workers;
  spec.place = {rank, knobs.nproc, rank, knobs.nproc, 0, 1};
  const LearningAsk& learning = workload.learning;
  if (!learning.watches) return spec;
  spec.learning = true;
  // The curve begins with the first sample.
  spec.warm_up_seconds = 0;
  spec.seed = learning.seed;
  spec.learning_rate *= learning.rate_factor;
  if (learning.gradients && learning_parts(knobs) > knobs.nproc * knobs.accumulate) {
    // One process without accumulation has a single part: two half batches give the same gradient
    // and two parts.
    spec.batch /= 2;
    spec.accumulate = 2;
  }
  return spec;
}

int learning_parts(const Knobs& knobs) {
  const int parts = knobs.nproc * knobs.accumulate;
  return parts > 1 ? parts : knobs.batch % 2 == 0 ? 2 : 0;
}

std::string reproduce_line(const Knobs& knobs, const TrainingWorkload& workload) {
  std::vector<std::string> line = {"ocrtune", "worker"};
  for (const auto& [name, text] : knob_texts(knobs)) line.push_back(name + "=" + text);
  const TrainingWorkload defaults;
  // Only what is not the default, so that the line stays short.
  const auto add = [&](const char* flag, const std::string& value, const std::string& usual) {
    if (value != usual) line.insert(line.end(), {flag, value});
  };
  add("--model", workload.model, defaults.model);
  add("--data", workload.label_file, "");
  add("--alphabet", workload.alphabet, "");
  add("--height", fmt::format("{}", workload.height), fmt::format("{}", defaults.height));
  add("--width", fmt::format("{}", workload.width), fmt::format("{}", defaults.width));
  add("--heights", fmt::format("{}", fmt::join(workload.heights, ",")), "");
  add("--width-buckets", fmt::format("{}", workload.width_buckets), "0");
  add("--queue-depth", fmt::format("{}", workload.queue_depth),
      fmt::format("{}", defaults.queue_depth));
  add("--bucket-kib", fmt::format("{}", workload.bucket_kib), "0");
  add("--classes", fmt::format("{}", workload.classes), fmt::format("{}", defaults.classes));
  add("--seed", fmt::format("{}", workload.seed), fmt::format("{}", defaults.seed));
  return shell_join(line);
}

}  // namespace ocrtune
