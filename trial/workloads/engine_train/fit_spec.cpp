// One list for both sides. The functions of a run cannot travel, so each side brings its own.
#include "trial/workloads/engine_train/fit_spec.h"

#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

constexpr auto kFields = [](auto& spec, const auto& visit) {
  auto& loader = spec.run.loader;
  visit("labels", loader.label_file);
  OCRTUNE_VISIT(loader, alphabet, batch, height, width, heights, width_buckets, workers,
                queue_depth);
  visit("loader_seed", loader.seed);
  auto& trainer = spec.run.trainer;
  OCRTUNE_VISIT(trainer, model, precision, threads, learning_rate, schedule, warm_up_steps,
                weight_decay, clip_norm, seed);
  OCRTUNE_VISIT(spec.run, steps, report_every, save_every, checkpoint, resume, evaluation_labels,
                max_evaluated, memory_bytes);
  visit("gpu", spec.gpu);
  visit("bucket_bytes", trainer.bucket_bytes);
  OCRTUNE_VISIT(spec.run.place, rank, world_size, local_rank, local_size);
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
