// What a sample of another recipe is worth: both recipes were trained from the same starts, and the
// samples that each needs to the same smoothed loss are compared.
//
// Source of the comparison by samples to a loss: Shallue et al. 2019, "Measuring the Effects of
// Data Parallelism on Neural Network Training".
#pragma once

#include <optional>
#include <vector>

#include "trial/trial.h"
#include "tuner/recommendation.h"

namespace ocrtune {

// Of the learning rate, where the global batch grows so: the square root, for Adam and its like.
double learning_rate_factor(std::int64_t global_batch, std::int64_t present_batch);

// Losses of one run, each the mean over `window` samples and at the middle of them.
struct SmoothedLoss {
  std::vector<double> samples, loss;
};
SmoothedLoss smoothed_loss(const Learning& learning, double window);

// Samples until the smoothed loss first falls to `loss`, straight between points; unset: it did
// not.
std::optional<double> samples_to(const SmoothedLoss& run, double loss);

// From the gradients of the last trial of the present global batch that has them, for a larger
// batch: the ends of the intervals are bounds. Unset: none has, or the batch is smaller.
std::optional<LearningWorth> worth_by_noise(const std::vector<Trial>& trials, std::int64_t present,
                                            std::int64_t other, const Interval& rate);

// From trials of both global batches with the same seeds. `rate`: the other setting's samples per
// second over the present one's. Where the other recipe hardly learns, an upper bound. Unset: fewer
// than two seeds have both, or the present one hardly learns either.
std::optional<LearningWorth> proved_worth(const std::vector<Trial>& trials, std::int64_t present,
                                          std::int64_t other, const Interval& rate);

}  // namespace ocrtune
