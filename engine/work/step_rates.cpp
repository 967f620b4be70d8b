// The seeded training step that hosts are compared by.
#include "engine/work/step_rates.h"

#include "base/clock.h"
#include "base/random.h"
#include "core/comm/comm.h"
#include "core/train/trainer.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

// Both values are guesses; the model is the default of TrainerOptions.
constexpr int kStepBatch = 8;
constexpr int kStepLetters = 10;  // of a line

}  // namespace

Result<std::vector<double>> measure_step_rates(int threads) {
  TrainerOptions options;
  options.batch = kStepBatch;
  options.threads = threads;
  const auto comm = make_single_comm();
  const auto trainer = OCRTUNE_TRY(Trainer::create(options, *comm));
  Random random(1);
  const Batch batch = noise_batch({kStepBatch, options.height, options.width}, random, kStepLetters,
                                  options.classes);
  constexpr int kWarmUp = 2;
  for (int i = 0; i < kWarmUp; ++i) OCRTUNE_TRY(trainer->step(batch));
  std::vector<double> rates;
  for (int window = 0; window < kStepWindows; ++window) {
    const double start = steady_seconds();
    double seconds = 0;
    int steps = 0;
    do {
      OCRTUNE_TRY(trainer->step(batch));
      ++steps;
      seconds = steady_seconds() - start;
    } while (seconds < kStepWindowSeconds);
    rates.push_back(steps * kStepBatch / seconds);
  }
  return rates;
}

}  // namespace ocrtune
