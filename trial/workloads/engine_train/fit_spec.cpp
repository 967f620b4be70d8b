// One list for both sides. The functions of a run cannot travel, so each side brings its own.
#include "trial/workloads/engine_train/fit_spec.h"

#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

constexpr auto kFields = [](auto& spec, const auto& visit) {
  auto& loader = spec.run.loader;
  visit("labels", loader.label_file);
  visit("alphabet", loader.alphabet);
  visit("batch", loader.batch);
  visit("height", loader.height);
  visit("width", loader.width);
  visit("heights", loader.heights);
  visit("width_buckets", loader.width_buckets);
  visit("workers", loader.workers);
  visit("queue_depth", loader.queue_depth);
  visit("loader_seed", loader.seed);
  auto& trainer = spec.run.trainer;
  visit("model", trainer.model);
  visit("precision", trainer.precision);
  visit("threads", trainer.threads);
  visit("learning_rate", trainer.learning_rate);
  visit("schedule", trainer.schedule);
  visit("warm_up_steps", trainer.warm_up_steps);
  visit("weight_decay", trainer.weight_decay);
  visit("clip_norm", trainer.clip_norm);
  visit("seed", trainer.seed);
  visit("steps", spec.run.steps);
  visit("report_every", spec.run.report_every);
  visit("save_every", spec.run.save_every);
  visit("checkpoint", spec.run.checkpoint);
  visit("resume", spec.run.resume);
  visit("evaluation_labels", spec.run.evaluation_labels);
  visit("max_evaluated", spec.run.max_evaluated);
  visit("memory_bytes", spec.run.memory_bytes);
  visit("gpu", spec.gpu);
  visit("bucket_bytes", trainer.bucket_bytes);
  visit("rank", spec.run.place.rank);
  visit("world_size", spec.run.place.world_size);
  visit("local_rank", spec.run.place.local_rank);
  visit("local_size", spec.run.place.local_size);
  visit("folder", spec.folder);
};

}  // namespace

std::string fit_spec_text(const FitSpec& spec) { return json_line(fields_json(kFields, spec)); }

Result<FitSpec> parse_fit_spec(const std::string& text) {
  auto spec = parse_fields<FitSpec>(kFields, text, "training spec");
  if (!spec) return spec;
  const RankPlace& place = spec->run.place;
  // A wrong number would make a rank wait for ever for the others.
  if (place.rank < 0 || place.rank >= place.world_size ||
      (place.world_size > 1 && spec->folder.empty())) {
    return Error{ErrorKind::usage, "training spec: several ranks have numbers and a folder"};
  }
  return spec;
}

}  // namespace ocrtune
