// The steps of ocrtune-cuda-core: is each GPU fit for the core, and how right and how fast is the
// core on one. For .cu files alone.
#pragma once

#include "probes/p2p/steps/gpu_step_order.h"

namespace ocrtune {

// Opens every visible GPU with its libraries and says what is free: findings "versions", "device".
int ready_step(const GpuStepOrder& order);

// One rank of a data-parallel job: gradients and logits against the reference backend on small
// batches, then steps and readings timed.
//
// Options: --model, --batch, --width, --classes, --precision=fp32|tf32|bf16, --graphs=off, --steps,
// --device (of CUDA; each rank its own if absent). Finding "core": relative_error, read_error,
// step_seconds, samples_per_second, read_samples_per_second, footprint_bytes, used_bytes; words:
// graphs.
int core_step(const GpuStepOrder& order);

}  // namespace ocrtune
