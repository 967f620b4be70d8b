// What a trial of the built-in core trains, and what each of its ranks is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trial/knobs.h"
#include "trial/learning.h"
#include "trial/workloads/engine_train/worker_spec.h"

namespace ocrtune {

// What is trained; the knobs say how.
struct TrainingWorkload {
  std::string model = "crnn";  // a row of core/models/model.h
  std::string label_file;      // "path<TAB>text" lines; empty: one drawn batch, again and again
  std::string alphabet;        // as LoaderOptions::alphabet
  int height = 32;
  int width = 320;
  std::vector<int> heights;  // multi-scale batches, see core/graph/batch.h; empty: `height` alone
  int width_buckets = 0;     // as LoaderOptions::width_buckets; needs a label file
  int bucket_kib = 0;        // as WorkerSpec::bucket_kib
  int queue_depth = 2;       // batches ready or under way for each loader worker
  int classes = 97;          // of drawn batches
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;
  LearningAsk learning;  // where it watches, its seed counts
};

// What one rank of a trial is told, but for where it meets the others.
WorkerSpec rank_spec(const TrainingWorkload& workload, const Knobs& knobs, int rank);

// Equal parts of a global batch whose gradients are looked at apart: those of ranks and of steps
// that are accumulated, else its two halves; 0: one sample has none.
int learning_parts(const Knobs& knobs);

// `ocrtune worker nproc=2 threads=1 ...`: what a user types to measure this setting again.
std::string reproduce_line(const Knobs& knobs, const TrainingWorkload& workload);

}  // namespace ocrtune
