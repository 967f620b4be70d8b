// The kind of workload that trains with the built-in engine, on CPUs or on GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trial/workloads/engine_train/training_workload.h"
#include "trial/workloads/workload.h"

namespace ocrtune {

struct EngineTrainingOptions {
  TrainingWorkload training;
  std::int64_t lines = 0;         // of the label file; 0: unknown, or drawn batches
  int widest_bucket = 0;          // pixels; 0: no width buckets
  std::vector<std::string> gpus;  // UUIDs, rank r on the r-th; empty: the CPUs
  bool tensor_cores = false;      // all of them have tf32 and bf16
};

// An answer is the line of the Paddle launcher with the same settings.
std::unique_ptr<const Workload> make_engine_training(EngineTrainingOptions options);

}  // namespace ocrtune
