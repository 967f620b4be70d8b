// Losses and norms of gradients by samples, gathered from the steps of all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trial/ipc/events.h"
#include "trial/learning.h"

namespace ocrtune {

// Points are as far apart as keeps them few: one global batch, then two, four, ... A step's loss
// belongs to the weights before it. Unknown losses (0, not a number) are passed over.
class LearningCurve {
 public:
  // `ranks` report steps, each its own samples, and take them in step. `global_batch`: samples
  // between two updates; 0: nothing is kept.
  LearningCurve(int ranks, std::int64_t global_batch)
      : ranks_(ranks),
        global_batch_(static_cast<double>(global_batch)),
        width_(static_cast<double>(global_batch)) {}

  void add(const StepEvent& step);
  std::vector<LearningPoint> points() const;

 private:
  void merge_pairs();

  double ranks_, global_batch_;
  double width_;                     // of a point, samples
  std::map<int, double> seen_;       // samples of each rank
  std::vector<LearningPoint> sums_;  // weighted by samples
};

}  // namespace ocrtune
