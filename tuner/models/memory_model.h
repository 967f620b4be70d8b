// Peak memory of a setting, learned from the trials that have finished.
//
// peak = c + n (a + s b + w k + h t): what every process holds, what each sample of a batch adds,
// what a loader worker and a thread add; n, b, w, t are nproc, batch, workers and threads. Each
// category (precision, backend, a user's dimension) scales the per-sample part. Bayesian linear
// regression over relative errors; all parts are positive, which bounds a prediction from any
// single observation by the largest ratio of parts. The upper bound is the lesser of both.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "trial/workloads/workload.h"
#include "tuner/space/space.h"

namespace ocrtune {

struct MemoryForecast {
  bool known = false;  // false: nothing was observed and no prior was given
  double bytes = 0;
  double low_bytes = 0;
  double high_bytes = 0;  // exceeded in about 1 of 200 settings
};

// Processes in the fullest of `memories`, over which `processes` are dealt out in turn.
int processes_together(int processes, int memories);

class MemoryModel {
 public:
  // `space` must outlive the model.
  // `memories`: processes take turns on so many memories of their own (GPUs), and peaks and plans
  // are of the fullest one, so that only the processes on it count.
  MemoryModel(const Space& space, MemoryPrior prior, int memories = 1);
  ~MemoryModel();
  MemoryModel(const MemoryModel&) = delete;
  MemoryModel& operator=(const MemoryModel&) = delete;

  // Keeps the largest peak of each point, of the latest 200 points; the fit waits for a forecast.
  void observe(int point, double peak_bytes);
  // A trial was stopped when it held this much: it needs more. Moves the regression where that
  // would have expected less, and bounds nothing from above.
  void observe_at_least(int point, double bytes);
  MemoryForecast forecast(int point) const;
  // By the regression; there must be an observation.
  double chance_within(int point, double bytes) const;
  // Is the upper bound known and within `bytes`? Much cheaper than a forecast, for whole spaces.
  bool fits(int point, double bytes) const;
  int observations() const { return static_cast<int>(points_.size()); }

 private:
  struct Fit;
  const Space* space_;
  MemoryPrior prior_;
  int memories_;
  mutable std::vector<double> planned_;  // by prior_, asked once a point; below 0: not yet
  std::vector<int> points_;
  std::vector<double> peaks_;
  std::vector<std::pair<int, double>> stopped_;  // points and what they held at least
  std::unique_ptr<Fit> fit_;
  mutable bool stale_ = false;
  // Of every point: the least bound that the first observations give, and how many those are.
  struct Bound {
    double bytes;
    std::size_t observations;
  };
  mutable std::vector<Bound> bounds_;  // empty: not begun

  void refit() const;
  double planned(int point) const;
  double ratio_bound(int point) const;
  double bound_by(std::size_t observation, int point) const;
};

}  // namespace ocrtune
