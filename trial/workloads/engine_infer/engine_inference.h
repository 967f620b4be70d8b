// The kind of workload that reads line images with the built-in engine, on CPUs or on GPUs.
#pragma once

#include <memory>

#include "trial/workloads/engine_infer/infer_runner.h"
#include "trial/workloads/workload.h"

namespace ocrtune {

// `inference` without a command and an address; `classes` are its alphabet and one. An answer is
// the line of `ocrtune infer`.
std::unique_ptr<const Workload> make_engine_inference(InferenceWorkload inference, int classes);

}  // namespace ocrtune
