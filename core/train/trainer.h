// A training rank: the model, its optimiser and one data-parallel step after another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/comm/comm.h"
#include "core/graph/batch.h"
#include "core/train/learning_schedule.h"

namespace ocrtune {

struct TrainerOptions {
  std::string model = "crnn";      // a row of core/models/model.h, or an ONNX file, which has its
                                   // weights and its number of classes
  std::string backend = "onednn";  // onednn | reference
  std::string precision = "fp32";  // fp32 | bf16
  int classes = 97;                // alphabet size + 1 for the blank
  int batch = 16;                  // the largest batch that step() will see
  int height = 32;                 // of the largest bucket
  int width = 320;
  std::vector<int> heights;  // multi-scale batches, see core/graph/batch.h; empty: `height` alone
  std::vector<int> widths;   // of further buckets, none wider than `width`: planned in advance
  int threads = 1;           // OpenMP team of this rank
  int accumulate = 1;        // steps whose gradients are averaged before the weights change
  // Several ranks: gradients are averaged in parts of at least so many bytes between the layers of
  // backward, once all ranks have them; 0: all at once after it. Changes no bit of the result.
  std::size_t bucket_bytes = 0;
  double learning_rate = 1e-3;        // AdamW; the peak of the schedule
  std::string schedule = "constant";  // constant | cosine, see core/train/learning_schedule.h
  std::int64_t warm_up_steps = 0;
  std::int64_t schedule_steps = 0;  // where cosine ends; constant does not need it
  double weight_decay = 0.01;       // not of biases and norms
  double clip_norm = 0;    // averaged gradients of a greater norm, all together, are scaled to it;
                           // 0: never
  std::uint64_t seed = 1;  // of the initial weights; the same on all ranks
  bool watch_gradients = false;  // StepReport has their squared norms; gradients are then averaged
                                 // all at once
};

// Of the steps of a run with these options.
inline LearningSchedule schedule_of(const TrainerOptions& options) {
  return {options.schedule, options.learning_rate, options.warm_up_steps, options.schedule_steps};
}

struct StepReport {
  double loss = 0;                // mean over this rank's samples that can be spelt, nats; NaN: the
                                  // run has diverged, its weights are worth nothing
  int impossible_labels = 0;      // longer than T can spell: loss +inf, no gradient
  double compute_seconds = 0;     // forward, backward, optimiser
  double all_reduce_seconds = 0;  // moving gradients, without waiting
  double wait_seconds = 0;        // waiting for the other ranks
  // Where gradients are watched, of the step that changes the weights: squared norms of the
  // gradient of one call of one rank, mean over this rank's `accumulate` calls, and of the mean
  // over all calls of all ranks. 0: not watched, or weights that did not change.
  double part_square = 0;
  double whole_square = 0;
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // unsupported: this CPU or build cannot do the precision or backend; exhausted: no memory;
  // usage: unknown model. `comm` must outlive the trainer.
  static Result<std::unique_ptr<Trainer>> create(const TrainerOptions& options, Comm& comm);

  // Bytes of one rank by plan: weights, gradients, optimiser state, activations, scratch.
  static Result<std::uint64_t> footprint_bytes(const TrainerOptions& options);

  // One batch; every `accumulate`th call changes the weights, and those between them exchange
  // nothing. usage: a batch, image or label beyond the options.
  virtual Result<StepReport> step(const Batch& batch) = 0;

  // Forward and backward of small seeded batches against the reference backend: the largest
  // relative error (Euclidean norm) over loss and gradient tensors, of each the best batch's. Below
  // 0.01 in fp32 and 0.2 in bf16 if all is right. Fast; leaves weights and optimiser state as they
  // were.
  virtual Result<double> check_against_reference() = 0;

  // Class logits of the inference form: [T, N, classes] flattened; labels are not looked at.
  virtual Result<std::vector<float>> logits(const Batch& batch) = 0;

  virtual std::size_t parameter_count() const = 0;
  virtual std::int64_t steps() const = 0;                  // those before a load() included
  virtual Status save(const std::string& path) const = 0;  // complete or not there
  virtual Status load(const std::string& path) = 0;        // invalid: damaged or another model
};

}  // namespace ocrtune
