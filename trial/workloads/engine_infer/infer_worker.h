// The process that recognises lines for an InferPool.
//
// Requests: 'I' number and path of a line, 'G' the chunk is complete; the pipe's end is the end.
// Answers: 'H' ready; 'R' number, confidence in millionths, text; 'B' number, why it is bad;
// 'D' a chunk is done, on these CPUs ("0-3"); 'P' the GPU that it computes on (gpu_place_body); 'E'
// an error that ends the worker (error_body of trial/workloads/engine_infer/infer_process.h); 'W'
// its result is wrong, and how.
#pragma once

#include "trial/workloads/engine_infer/infer_device.h"
#include "trial/workloads/engine_infer/infer_spec.h"

namespace ocrtune {

bool run_infer_worker(const InferSpec& spec);  // false: it ended with an error
bool run_infer_worker_on(const InferSpec& spec, InferDevice& device);

}  // namespace ocrtune
