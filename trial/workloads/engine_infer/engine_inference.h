// The kind of workload that reads line images with the built-in engine, on CPUs or on GPUs.
#pragma once

#include <cstdint>
#include <memory>

#include "core/infer/recognizer.h"
#include "trial/workloads/engine_infer/infer_runner.h"
#include "trial/workloads/workload.h"

namespace ocrtune {

// `inference` without a command and an address; `classes` are its alphabet and one. An answer is
// the line of `ocrtune infer`.
std::unique_ptr<const Workload> make_engine_inference(InferenceWorkload inference, int classes);

// GPU memory of a process that recognises lines of every width, by plan.
// core/gpu/device_footprint.h's plan is that of the largest batch; a reader keeps a network ready
// for each shape that comes often (core/infer/logit_maker.h), whose activations come on top: in
// proportion to their lines and widths. Errors: as device_reading_bytes.
Result<std::uint64_t> all_shapes_reading_bytes(const RecognizerOptions& options, int classes);

}  // namespace ocrtune
