// Parameters of a curve from few observations of which some are wrong.
//
// The maximum of the posterior: standard normal priors, Student-t residuals (outliers pull only so
// much), found by Levenberg and Marquardt's damped steps.
#pragma once

#include <functional>
#include <vector>

namespace ocrtune {

struct FitProblem {
  std::vector<double> targets;
  std::vector<double> variances;  // of each target
  double width = 0.06;            // by which the curve itself is expected to miss, as a deviation
  int held = -1;                  // a parameter that stays where it starts; -1: none
  // The curve at every target for parameters z; its slopes, row by row of targets.size() rows.
  std::function<std::vector<double>(const std::vector<double>& z)> curve;
  std::function<std::vector<double>(const std::vector<double>& z)> slopes;
};

struct Fit {
  std::vector<double> z;
  double loss = 0;  // negative logarithm of the posterior; smaller is better
};

Fit fit_robustly(const FitProblem& problem, std::vector<double> start);

}  // namespace ocrtune
