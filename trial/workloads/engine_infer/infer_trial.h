// The process that measures how many lines the built-in core reads: `ocrtune infer-trial`.
//
// It is an inference run as `ocrtune infer` does it (trial/workloads/engine_infer/infer_pool.h),
// over its lines again and again, whose workers' chunks are told as steps until it is stopped.
#pragma once

#include "trial/ipc/event_writer.h"
#include "trial/workloads/engine_infer/infer_pool.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"
#include "trial/workloads/engine_infer/line_list.h"

namespace ocrtune {

Result<LineList> lines_of(const InferTrialSpec& spec);  // in the order of line_answers.h
Result<InferJob> infer_job_of(const InferTrialSpec& spec, const LineList& lines);

// The error of a worker, or of the whole, as the event that a trial understands.
ErrorEvent error_event(const Error& error);

bool run_infer_trial(const InferTrialSpec& spec, EventWriter& events);  // false: it failed

}  // namespace ocrtune
