// What one rank of a trial is told to do: `ocrtune worker --spec JSON`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/comm/comm.h"

namespace ocrtune {

struct WorkerSpec {
  std::string model = "crnn";
  std::string backend = "onednn";
  std::string precision = "fp32";
  int threads = 1;
  int batch = 16;
  int accumulate = 1;  // as TrainerOptions::accumulate
  int height = 32;
  int width = 320;
  std::vector<int> heights;  // multi-scale batches, see core/graph/batch.h; empty: `height` alone
  int classes = 97;          // of drawn batches; a label file brings its own alphabet
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;
  std::string label_file;  // empty: one drawn batch, again and again
  std::string alphabet;    // as LoaderOptions::alphabet
  int loader_workers = 0;
  int width_buckets = 0;  // as LoaderOptions::width_buckets
  int queue_depth = 2;    // batches ready or under way for each loader worker
  RankPlace place;
  int bucket_kib = 0;   // as TrainerOptions::bucket_bytes; 0: gradients are averaged after backward
  std::string segment;  // of the shared memory, or on GPUs the folder where ranks meet; needed by
                        // more than one rank
  std::string gpu;      // UUID of the GPU that this rank must compute on; empty: no GPU
  bool learning = false;  // steps are reported from the first one on, with their gradients' norms
  bool check = true;      // one seeded batch against the reference before time counts
  double warm_up_seconds = 0.2;  // at least two steps
  double report_seconds = 0.02;  // steps shorter than this share an event
  double run_seconds = 0;        // ends by itself after this; 0: until SIGTERM or a closed pipe
};

std::string spec_text(const WorkerSpec& spec);           // one line of JSON
std::string short_spec_text(const WorkerSpec& spec);     // of what is not as in WorkerSpec()
Result<WorkerSpec> parse_spec(const std::string& text);  // usage: names the bad field

}  // namespace ocrtune
