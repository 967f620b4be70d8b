// A Gaussian process on what the structured model leaves over.
//
// The residual is a sum of parts, each with a variance that the observations choose:
//   a curve along every count (Matern 3/2: curves may have kinks),
//   a surface over all features together, smooth, and one with short waves (Matern 5/2),
//   what the structured model's parameters may still be off by (linear in its gradient),
//   a part of its own for every point (real surfaces are a little rough),
//   slow drift over the time of the observations: machines grow warm, other load comes and goes.
// Repeats of a point share all but the drift and the noise. What is forecast is the truth without
// the drift, as if it had been measured over the whole time. Variances are found by climbing the
// posterior from where they last stood; observations far below what all others say are given less
// weight. Source: Rasmussen and Williams 2006, chapters 2 and 5; additive kernels: Duvenaud et al.
// 2011.
#pragma once

#include <memory>
#include <vector>

namespace ocrtune {

struct GpRow {
  std::vector<double> features;  // one unit: about a doubling; those with a curve come first
  std::vector<double> tangent;   // in units of the prior's deviation
  double when = -1;              // of an observation, in trials; below 0: at no time in particular
};

struct GpObservation {
  GpRow row;
  int point = 0;
  double value = 0;     // residual, as a logarithm
  double variance = 0;  // of its mean, by the noise between repeats
};

// What is believed of one row.
struct GpForecast {
  double mean = 0;
  double stddev = 0;  // of the truth at that point, without the noise of a measurement
  std::vector<double> covariances;  // of the truth with that at each watched row
  std::vector<double> others;       // means by each of retell()'s values
};

class GaussianProcess {
 public:
  explicit GaussianProcess(int curves);  // features that have a curve of their own
  ~GaussianProcess();
  GaussianProcess(const GaussianProcess&) = delete;
  GaussianProcess& operator=(const GaussianProcess&) = delete;

  // `climb_steps` moves of the variances; 0 keeps them.
  void fit(const std::vector<GpObservation>& observations, int climb_steps);

  // Rows whose covariances forecasts give from now on, until the next fit.
  void watch(const std::vector<GpRow>& rows, const std::vector<int>& points);
  // `point` tells whether the row is one of the observed points (which have no roughness left
  // over).
  GpForecast forecast(const GpRow& row, int point) const;
  // What other structured models leave over of the same observations, one vector of values each:
  // how unlikely each is by the parts and the noise, in nats but for what all share; and forecasts
  // give a mean by each from now on, until the next fit. None of them has a tangent.
  std::vector<double> retell(const std::vector<std::vector<double>>& values);
  // How far an observation is off from what the others say, in standard deviations.
  const std::vector<double>& surprises() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ocrtune
