// Residuals are weighted as a Student t says at the present point; the curvature is that of Gauss
// and Newton. A step counts only where the loss falls. Few passes do, since callers fit again after
// each trial from the last fit.
#include "tuner/models/robust_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <Eigen/Dense>

namespace ocrtune {
namespace {

constexpr double kDof = 4;  // of the Student t
// Bounds on the work; guesses, as is the degree of damping below.
constexpr int kPasses = 12;
constexpr int kAttempts = 4;
constexpr double kLongestStep = 1.5;  // of one parameter
constexpr double kDone = 1e-4;        // of the loss

class Descent {
 public:
  Descent(const FitProblem& problem, std::vector<double> start) : problem_(problem) {
    fit_.z = std::move(start);
    curve_ = problem.curve(fit_.z);
    fit_.loss = loss_of(fit_.z, curve_);
  }

  Fit run() {
    for (int pass = 0; pass < kPasses; ++pass) {
      const double before = fit_.loss;
      if (!step() || before - fit_.loss < kDone) break;
    }
    return std::move(fit_);
  }

 private:
  const FitProblem& problem_;
  Fit fit_;
  std::vector<double> curve_;  // at fit_.z
  double damping_ = 0.1;

  double scale(std::size_t row) const {
    return problem_.width * problem_.width + problem_.variances[row];
  }

  double loss_of(const std::vector<double>& z, const std::vector<double>& curve) const {
    double loss = 0;
    for (double value : z) loss += 0.5 * value * value;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      const double residual = problem_.targets[i] - curve[i];
      loss += 0.5 * (kDof + 1) * std::log1p(residual * residual / (kDof * scale(i)));
    }
    return loss;
  }

  // One step downhill; false: there is none.
  bool step() {
    const auto rows = static_cast<Eigen::Index>(problem_.targets.size());
    const auto count = static_cast<Eigen::Index>(fit_.z.size());
    const std::vector<double> flat = problem_.slopes(fit_.z);
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> slopes(flat.data(), rows, count);
    Eigen::VectorXd residuals(rows);
    Eigen::VectorXd weights(rows);
    for (Eigen::Index i = 0; i < rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double residual = problem_.targets[at] - curve_[at];
      residuals[i] = residual;
      weights[i] = (kDof + 1) / (kDof * scale(at) + residual * residual);
    }
    const Eigen::Map<const Eigen::VectorXd> here(fit_.z.data(), count);
    const Eigen::MatrixXd weighted = weights.asDiagonal() * slopes;
    Eigen::MatrixXd curvature = slopes.transpose() * weighted;
    // The standard normal prior of each parameter.
    curvature.diagonal().array() += 1;
    Eigen::VectorXd pull = weighted.transpose() * residuals - here;
    // Its row says that it does not move.
    if (problem_.held >= 0) {
      curvature.row(problem_.held).setZero();
      curvature.col(problem_.held).setZero();
      curvature(problem_.held, problem_.held) = 1;
      pull[problem_.held] = 0;
    }
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Eigen::MatrixXd damped = curvature;
      damped.diagonal() *= 1 + damping_;
      const Eigen::VectorXd move = damped.ldlt().solve(pull);
      std::vector<double> next = fit_.z;
      for (Eigen::Index i = 0; i < count; ++i) {
        next[static_cast<std::size_t>(i)] += std::clamp(move[i], -kLongestStep, kLongestStep);
      }
      std::vector<double> curve = problem_.curve(next);
      const double lower = loss_of(next, curve);
      if (lower < fit_.loss) {
        fit_ = {std::move(next), lower};
        curve_ = std::move(curve);
        damping_ *= 0.3;
        return true;
      }
      // From 1e-2 on: many successes have made it so small that factors of five would take all
      // attempts.
      damping_ = std::max(damping_, 1e-2) * 5;
    }
    return false;
  }
};

}  // namespace

Fit fit_robustly(const FitProblem& problem, std::vector<double> start) {
  return Descent(problem, std::move(start)).run();
}

}  // namespace ocrtune
