// Arms of a bench that compares ways to average gradients: each a trainer on its own ranks, taking
// turns over the same batch.
#pragma once

#include <memory>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/graph/batch.h"
#include "core/train/trainer.h"

namespace ocrtune {

struct Arm {
  std::unique_ptr<Comm> comm;
  std::unique_ptr<Trainer> trainer;
  std::vector<double> step_seconds, reduce_seconds, wait_seconds;  // of each window, per step
};

inline Batch drawn_batch(const TrainerOptions& options, int rank) {
  Random random(99 + static_cast<std::uint64_t>(rank));
  Batch batch = noise_batch({options.batch, options.height, options.width}, random);
  batch.labels.assign(static_cast<std::size_t>(batch.count), {1, 2, 3, 4, 5});
  return batch;
}

// Steps of one window; what they took in all is the caller's to time.
inline Status take_steps(Arm& arm, const Batch& batch, int steps) {
  double reduce = 0, wait = 0;
  for (int step = 0; step < steps; ++step) {
    const auto report = OCRTUNE_TRY(arm.trainer->step(batch));
    reduce += report.all_reduce_seconds;
    wait += report.wait_seconds;
  }
  arm.reduce_seconds.push_back(reduce / steps);
  arm.wait_seconds.push_back(wait / steps);
  return Status();
}

}  // namespace ocrtune
