// A fixed number of points of growing width: when they are full, neighbours are merged and the
// width doubles. All sums are weighted by samples, so a merged point is the mean of its two.
#include "trial/watch/learning_curve.h"

#include <cmath>

namespace ocrtune {
namespace {

constexpr std::size_t kMostPoints = 512;  // a trial's record stays small; even

void add_sums(LearningPoint& sum, const LearningPoint& one) {
  sum.samples += one.samples;
  sum.weight += one.weight;
  sum.loss += one.loss;
  sum.part_square += one.part_square;
  sum.whole_square += one.whole_square;
}

LearningPoint times(const LearningPoint& point, double factor) {
  return {factor * point.samples, factor * point.weight, factor * point.loss,
          factor * point.part_square, factor * point.whole_square};
}

}  // namespace

void LearningCurve::add(const StepEvent& step) {
  if (!(global_batch_ > 0) || step.samples < 1) return;
  const auto more = static_cast<double>(step.samples);
  double& seen = seen_[step.rank];
  // The ranks take their samples in step, so the job is as far as all ranks together.
  const double middle = ranks_ * (seen + more / 2);
  seen += more;
  if (!(step.loss > 0) || !std::isfinite(step.loss)) return;
  while (middle / width_ >= static_cast<double>(kMostPoints)) merge_pairs();
  const auto at = static_cast<std::size_t>(middle / width_);
  if (at >= sums_.size()) sums_.resize(at + 1);
  // The loss is of the weights before the update, half a batch earlier than the middle of the step.
  const LearningPoint one{middle - global_batch_ / 2, 1, step.loss, step.part_square,
                          step.whole_square};
  add_sums(sums_[at], times(one, more));
}

void LearningCurve::merge_pairs() {
  sums_.resize(kMostPoints);
  for (std::size_t i = 0; i < kMostPoints; i += 2) {
    add_sums(sums_[i], sums_[i + 1]);
    sums_[i / 2] = sums_[i];
  }
  sums_.resize(kMostPoints / 2);
  width_ *= 2;
}

std::vector<LearningPoint> LearningCurve::points() const {
  std::vector<LearningPoint> points;
  for (const LearningPoint& sum : sums_) {
    if (!(sum.weight > 0)) continue;
    points.push_back(times(sum, 1 / sum.weight));
    points.back().weight = sum.weight;
  }
  return points;
}

}  // namespace ocrtune
