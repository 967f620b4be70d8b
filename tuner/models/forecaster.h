// What any setting of a space would do, from the trials so far: the structured model for the shape,
// the Gaussian process for the rest and for how sure that is.
#pragma once

#include <vector>

#include "tuner/models/gaussian_process.h"
#include "tuner/models/ledger.h"
#include "tuner/models/speed_model.h"

namespace ocrtune {

struct SpeedForecast {
  int point = 0;
  double log_rate = 0;
  double stddev = 0;                // of the truth, without the noise of a measurement
  std::vector<double> covariances;  // of the truth with those of the watched points
  double other_log_rate = -1e9;     // the highest by another explanation, after explain()
};

class Forecaster {
 public:
  // `by_step`: what is learned is 1 / step seconds, not samples per second.
  // `cores` 0: unknown. `space` must outlive the forecaster.
  Forecaster(const Space& space, double cores, double expected_noise, bool by_step = false);

  // Learns from everything in the ledger; cheap when nothing was added.
  void update(const Ledger& ledger);
  bool ready() const { return trials_seen_ > 0; }

  SpeedForecast forecast(int point) const;
  // Forecasts have other_log_rate from now on, until the next update: what else of the structured
  // model explains the observations about as well. About 10 ms; cheap when nothing was added.
  void explain();
  // The upper end of a 95 % interval of log_rate, whichever explanation holds.
  double highest(const SpeedForecast& speed) const;
  // By the structured model alone: fast, for choosing whom to ask about.
  double rough_log_rate(int point) const { return speed_.log_rate(point) + offset(point); }
  // Points whose covariances forecasts give from now on, until the next update.
  void watch(const std::vector<int>& points);

  // Relative deviation between repeats, by one standard error of itself on the safe side: few
  // repeats that happen to agree would let one lucky run pass for the truth.
  double noise() const { return noise_; }
  // Deviations of a 95 % interval: more than 1.96 while few settings stand behind the deviation.
  double wide() const;
  const std::vector<int>& suspicious() const { return suspicious_; }  // far below what others say
  const SpeedModel& speed() const { return speed_; }

 private:
  const Space* space_;
  double expected_noise_;
  bool by_step_;
  SpeedModel speed_;
  GaussianProcess process_;
  int trials_seen_ = 0, trials_explained_ = 0;
  std::vector<Observation> seen_;                  // trial by trial, as the process has them
  std::vector<std::vector<double>> explanations_;  // parameters of those that may hold
  double noise_ = 0;
  double misfit_ = 1;      // by which the process misses what it did not see
  int settings_seen_ = 0;  // that work
  std::vector<int> suspicious_;
  std::vector<std::vector<double>> fixed_features_;  // of every point: what no fit changes
  std::size_t counts_ = 0;                           // how many of them are counts; words follow

  GpRow row(int point) const;
  double base(int point, const GpRow& row) const;
  double offset(int point) const;
  std::vector<double> left_over(const std::vector<double>& parameters) const;
  std::vector<double> features(int point) const;
  std::vector<double> fixed_features(int point) const;
};

}  // namespace ocrtune
