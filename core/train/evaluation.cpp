#include "core/train/evaluation.h"

#include <algorithm>
#include <span>

#include "base/interrupt.h"
#include "core/data/image_file.h"
#include "core/data/resize.h"
#include "core/graph/batch.h"

namespace ocrtune {
namespace {

// Fills `batch` with lines from `next` on, skipping bad ones; fewer than wanted at the end.
void fill_batch(const SampleSource& source, const EvaluationOptions& options, std::int64_t& next,
                Batch& batch, std::int64_t& unreadable) {
  const std::int64_t end = std::min(source.size(), options.max_lines);
  const std::size_t floats =
      3 * static_cast<std::size_t>(options.height) * static_cast<std::size_t>(options.width);
  batch.count = 0;
  batch.height = options.height;
  batch.width = options.width;
  batch.labels.clear();
  batch.images.clear();
  for (; next < end && batch.count < options.batch; ++next) {
    const auto bytes = source.image_bytes(next);
    const auto image = bytes ? decode_image(*bytes) : Result<Image>(bytes.error());
    if (!image) {
      ++unreadable;
      continue;
    }
    batch.images.resize(batch.images.size() + floats);
    write_line(*image, options.height, options.width, std::span<float>(batch.images).last(floats));
    const std::span<const int> label = source.label(next);
    batch.labels.emplace_back(label.begin(), label.end());
    ++batch.count;
  }
}

}  // namespace

Result<Evaluation> evaluate(Trainer& trainer, const SampleSource& source,
                            const EvaluationOptions& options) {
  Evaluation evaluation;
  Batch batch;
  const int classes = static_cast<int>(source.alphabet().size()) + 1;
  for (std::int64_t next = 0;;) {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted while evaluating"};
    fill_batch(source, options, next, batch, evaluation.unreadable);
    if (batch.count == 0) return evaluation;
    const auto logits = OCRTUNE_TRY(trainer.logits(batch));
    const int steps = static_cast<int>(logits.size() / static_cast<std::size_t>(batch.count) /
                                       static_cast<std::size_t>(classes));
    const auto lines = greedy_decode(logits, steps, batch.count, classes);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      evaluation.errors.add(lines[i].classes, batch.labels[i]);
    }
  }
}

}  // namespace ocrtune
