// Throughput of a setting from how such programs work, fitted to the trials so far.
//
// rate = n b / step; step = max(compute, loading); compute = (per-step + per-sample b) x Amdahl(t)
// x contention(n) x oversubscription(n t + loaders, cores) + all-reduce(n); a ceiling for the whole
// machine; a factor for every category and a bend for every dimension of the user's. Each parameter
// has a prior that any machine is expected to satisfy, so that two trials already give a forecast;
// the fit is the maximum of the posterior (Levenberg-Marquardt, Student-t residuals).
// Sources: Amdahl 1967; Gunther's Universal Scalability Law; the roofline's ceiling.
#pragma once

#include <memory>
#include <vector>

#include "tuner/recommendation.h"
#include "tuner/space/space.h"

namespace ocrtune {

// The mean of a point's trials, as a logarithm.
struct Observation {
  int point = 0;
  double log_rate = 0;
  double variance = 0;  // of log_rate, from the noise between repeats
};

class SpeedModel {
 public:
  // `cores` 0: unknown, found from the space and then learned. `space` must outlive the model.
  SpeedModel(const Space& space, double cores);
  ~SpeedModel();
  SpeedModel(const SpeedModel&) = delete;
  SpeedModel& operator=(const SpeedModel&) = delete;

  void fit(const std::vector<Observation>& observations);

  double log_rate(int point) const;

  // Other explanations of the observations of the last fit: the parameters that fit best with one
  // cost of a step held far from what is expected of it (loading, contention, ...). Where the
  // observations say nothing of that cost they are about as likely as the fit, else far less.
  // About 1 ms each.
  std::vector<std::vector<double>> explanations() const;
  double log_rate(int point, const std::vector<double>& parameters) const;
  // Parameters in units of their prior's standard deviation; fitted values, 0 before the first fit.
  const std::vector<double>& parameters() const;
  // d log_rate / d parameters at the fit; the prior covariance of the parameters is the identity.
  void gradient(int point, double* into) const;
  int parameter_count() const;
  double cores() const;  // as fitted

  std::vector<FittedTerm> terms() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ocrtune
