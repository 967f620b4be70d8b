// Training to a step, with checkpoints that it can be resumed from: one process, or one rank of
// several that each read their own share of the lines. Rank 0 alone reports, saves and evaluates.
//
// A checkpoint is two files: the trainer's state and, beside it, "<checkpoint>.alphabet" with one
// character a line, without which the classes have no meaning.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/comm/comm.h"
#include "core/data/loader.h"
#include "core/infer/decode.h"
#include "core/train/trainer.h"

namespace ocrtune {

// What is known of the memory before the first step.
struct TrainingMemory {
  std::uint64_t planned_bytes = 0;
  std::vector<WidthBucket> buckets;         // of the loader
  std::vector<std::uint64_t> bucket_bytes;  // planned if each were the widest
};

// What the loader's width buckets mean for the trainer: the widest is its width, and all are
// planned. Changes nothing where there are none.
void plan_width_buckets(TrainerOptions& trainer, const std::vector<WidthBucket>& buckets);

// usage, unsupported: as Trainer::footprint_bytes.
Result<TrainingMemory> plan_memory(const TrainerOptions& trainer,
                                   const std::vector<WidthBucket>& buckets);

struct TrainingRunOptions {
  LoaderOptions loader;
  TrainerOptions trainer;          // batch, height, width and classes come from the loader, the
                                   // end of its schedule from `steps`
  std::int64_t steps = 1000;       // in all, those before a resume included
  std::int64_t report_every = 50;  // steps
  std::int64_t save_every = 200;   // steps; 0: only at the end
  std::string checkpoint;          // empty: nothing is kept
  std::string resume;              // a checkpoint to go on from; empty: from seeded weights
  std::string evaluation_labels;   // label file of held-out lines; empty: no evaluation
  std::int64_t max_evaluated = 2000;
  std::uint64_t memory_bytes = 0;  // a plan above this is refused; 0: whatever the system gives
  std::function<void(const TrainingMemory&)> planned;  // may be null; called once
  // Where it trains, if not on the CPUs: the plan of its memory, and the trainer, which is asked
  // for once the loader's workers are forked. Null: Trainer's own.
  std::function<Result<std::uint64_t>(const TrainerOptions&)> planned_bytes;
  std::function<Result<std::unique_ptr<Trainer>>(const TrainerOptions&, Comm&)> make_trainer;
  // Of several ranks: who this is, and how they meet, asked for once, before the trainer.
  RankPlace place;
  std::function<Result<std::unique_ptr<Comm>>()> make_comm;
};

struct TrainingProgress {
  std::int64_t step = 0;
  double loss = 0;                // mean since the last report, nats a line
  double label_error_rate = 0;    // of this step's batch, read with the inference form
  double samples_per_second = 0;  // of all ranks; the other figures are of this one's share
  double data_share = 0;          // of the time, waiting for the loader
};

struct TrainingOutcome {
  std::int64_t steps = 0;  // done, those before a resume included
  bool interrupted = false;
  std::int64_t impossible_labels = 0;  // longer than the width can spell; seen, not learned
  LoaderCounts counts;
  bool evaluated = false;
  LabelErrors evaluation;
};

// At an interrupt the checkpoint is written and the outcome says so. Forks loader workers before
// the first OpenMP region. exhausted: the plan does not fit; invalid: `resume` is damaged, of
// another model or alphabet.
Result<TrainingOutcome> run_training(const TrainingRunOptions& options,
                                     const std::function<void(const TrainingProgress&)>& report);

}  // namespace ocrtune
