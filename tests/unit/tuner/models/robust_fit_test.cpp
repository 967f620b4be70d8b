#include "tuner/models/robust_fit.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// z[0] + z[1] x + exp(z[2]) at x = 0, 1, 2, ...: z[0] and z[2] cannot both be known.
FitProblem problem_of(std::vector<double> targets) {
  FitProblem problem;
  const std::size_t rows = targets.size();
  problem.targets = std::move(targets);
  problem.variances.assign(rows, 1e-4);
  problem.width = 0.01;
  problem.curve = [rows](const std::vector<double>& z) {
    std::vector<double> values;
    for (std::size_t i = 0; i < rows; ++i) {
      values.push_back(z[0] + z[1] * static_cast<double>(i) + std::exp(z[2]));
    }
    return values;
  };
  problem.slopes = [rows](const std::vector<double>& z) {
    std::vector<double> values;
    for (std::size_t i = 0; i < rows; ++i) {
      values.insert(values.end(), {1, static_cast<double>(i), std::exp(z[2])});
    }
    return values;
  };
  return problem;
}

TEST(RobustFit, FindsTheCurve) {
  const Fit fit = fit_robustly(problem_of({1.0, 1.3, 1.6, 1.9, 2.2}), {0, 0, 0});
  EXPECT_NEAR(fit.z[0] + std::exp(fit.z[2]), 1.0, 0.01);
  EXPECT_NEAR(fit.z[1], 0.3, 0.01);
}

TEST(RobustFit, AnOutlierPullsLittle) {
  const Fit fit = fit_robustly(problem_of({1.0, 1.3, 1.6, 1.9, 2.2, -3.0, 2.8, 3.1}), {0, 0, 0});
  EXPECT_NEAR(fit.z[1], 0.3, 0.02);
}

TEST(RobustFit, WithoutObservationsThePriorStands) {
  const Fit fit = fit_robustly(problem_of({}), {1, -1, 0.5});
  for (double value : fit.z) EXPECT_NEAR(value, 0, 0.05);
}

TEST(RobustFit, AHeldParameterStaysAndTheOthersMakeUpForIt) {
  FitProblem problem = problem_of({1.0, 1.3, 1.6, 1.9, 2.2});
  problem.held = 2;
  const Fit fit = fit_robustly(problem, {0, 0, 1});
  EXPECT_EQ(fit.z[2], 1);
  EXPECT_NEAR(fit.z[0] + std::exp(fit.z[2]), 1.0, 0.02);
}

}  // namespace
}  // namespace ocrtune
