// The GPU memory that a training or a reading needs, by plan: no GPU is touched.
#pragma once

#include <cstdint>

#include "core/infer/recognizer.h"
#include "core/train/trainer.h"

namespace ocrtune {

// Bytes of one process on its GPU: weights, activations, batch, and what the CUDA context and its
// libraries take on top (an estimate, until a run has told); cuDNN's scratch, at most 512 MB in
// all, is known on the GPU alone and not in it. bf16 halves activations and adds a copy of the
// weights. usage: unknown model, images too small; unsupported: layers that the GPU core lacks,
// multi-scale batches.
Result<std::uint64_t> device_training_bytes(const TrainerOptions& options);
Result<std::uint64_t> device_reading_bytes(const RecognizerOptions& options, int classes);

}  // namespace ocrtune
