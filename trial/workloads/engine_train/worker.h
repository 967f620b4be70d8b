// One rank of a trial, from its loader to its last event: what `ocrtune worker --spec` runs.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "core/comm/comm.h"
#include "trial/workloads/engine_train/worker_device.h"
#include "trial/workloads/engine_train/worker_spec.h"

namespace ocrtune {

// Writes events to the descriptor until SIGTERM, a closed pipe or spec.run_seconds. What went wrong
// is an ErrorEvent with the outcome; false then. Loader processes are forked before the first
// OpenMP region: a forked OpenMP runtime may hang.
// `meet` makes the ranks' Comm, where they are several; empty: through spec.segment.
using Meeting = std::function<Result<std::unique_ptr<Comm>>()>;
bool run_worker(const WorkerSpec& spec, int event_descriptor, const Meeting& meet = {});

// The same on a device; it is asked for its memory now and then.
bool run_worker_on(const WorkerSpec& spec, WorkerDevice& device, int event_descriptor);

}  // namespace ocrtune
