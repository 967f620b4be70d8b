// How well a trainer's present weights read lines that they may never have seen.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "core/data/sample_source.h"
#include "core/infer/decode.h"
#include "core/train/trainer.h"

namespace ocrtune {

struct EvaluationOptions {
  int batch = 16;
  int height = 32;
  int width = 320;
  std::int64_t max_lines = 2000;  // the first ones of the source
};

struct Evaluation {
  LabelErrors errors;
  std::int64_t unreadable = 0;  // images that are bad; not in `errors`
};

// Reads the lines in order with the inference form. The source's alphabet must be the trainer's.
Result<Evaluation> evaluate(Trainer& trainer, const SampleSource& source,
                            const EvaluationOptions& options);

}  // namespace ocrtune
