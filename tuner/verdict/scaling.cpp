// Relative residuals, Huber's loss, a Levenberg-Marquardt descent with bounds, and the noise found
// from the residuals in turns. Draws of the bootstrap are fitted again from the fit, with points,
// prior and noise drawn anew.
#include "tuner/verdict/scaling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>

#include <Eigen/Dense>

#include "base/random.h"

namespace ocrtune {
namespace {

constexpr double kPriorNoise = 0.02;   // what a quiet machine repeats to
constexpr double kPriorNoiseDof = 2;   // worth that many residuals
constexpr double kSigmaSpread = 0.2;   // prior deviation of sigma
constexpr double kKappaSpread = 0.02;  // prior deviation of kappa
constexpr double kHuber = 2.0;         // residuals beyond this many deviations lose weight
constexpr double kMinNoise = 0.002;    // a table without noise still has rounding

struct Observation {
  double processes = 1;
  double log_rate = 0;
  double repeat_variance = 0;  // of the median of the repeats, relative
  double stddev = kPriorNoise;
};

struct Prior {
  double sigma = 0;
  double kappa = 0;
};

using Vector3 = Eigen::Vector3d;  // log gamma, sigma, kappa
using Matrix3 = Eigen::Matrix3d;

UslCurve curve_of(const Vector3& theta) { return {std::exp(theta[0]), theta[1], theta[2]}; }

double residual(const Observation& seen, const Vector3& theta) {
  return (seen.log_rate - std::log(curve_of(theta).at(seen.processes))) / seen.stddev;
}

double huber_cost(double r) {
  const double size = std::abs(r);
  return size <= kHuber ? 0.5 * r * r : kHuber * (size - 0.5 * kHuber);
}

double cost(const std::vector<Observation>& seen, const Prior& prior, const Vector3& theta) {
  const double ds = (theta[1] - prior.sigma) / kSigmaSpread;
  const double dk = (theta[2] - prior.kappa) / kKappaSpread;
  double sum = 0.5 * (ds * ds + dk * dk);
  for (const Observation& one : seen) sum += huber_cost(residual(one, theta));
  return sum;
}

// Gradient and Gauss-Newton matrix of cost(), Huber's weights included.
void linearise(const std::vector<Observation>& seen, const Prior& prior, const Vector3& theta,
               Vector3& gradient, Matrix3& normal) {
  gradient = {0, (theta[1] - prior.sigma) / (kSigmaSpread * kSigmaSpread),
              (theta[2] - prior.kappa) / (kKappaSpread * kKappaSpread)};
  normal.setZero();
  normal(1, 1) = 1 / (kSigmaSpread * kSigmaSpread);
  normal(2, 2) = 1 / (kKappaSpread * kKappaSpread);
  for (const Observation& one : seen) {
    const double n = one.processes;
    const double below = 1 + theta[1] * (n - 1) + theta[2] * n * (n - 1);
    const Vector3 slope = Vector3(-1, (n - 1) / below, n * (n - 1) / below) / one.stddev;
    const double r = residual(one, theta);
    const double weight = std::min(1.0, kHuber / std::max(std::abs(r), 1e-12));
    gradient += weight * r * slope;
    normal += weight * slope * slope.transpose();
  }
}

Vector3 clamped(Vector3 theta) {
  theta[1] = std::clamp(theta[1], 0.0, 1.0);
  theta[2] = std::max(theta[2], 0.0);
  return theta;
}

// One damped step in the parameters that are not held at their bound.
Vector3 step_from(const Vector3& theta, Vector3 gradient, Matrix3 normal, double damping) {
  for (int i = 0; i < 3; ++i) {
    const bool at_low = i > 0 && theta[i] <= 0 && gradient[i] > 0;
    const bool at_high = i == 1 && theta[i] >= 1 && gradient[i] < 0;
    // A parameter at its bound that wants to go beyond is held, and the others are solved for.
    if (at_low || at_high) {
      gradient[i] = 0;
      normal.row(i).setZero();
      normal.col(i).setZero();
      normal(i, i) = 1;
    } else {
      normal(i, i) *= 1 + damping;
    }
  }
  return clamped(theta - normal.ldlt().solve(gradient));
}

Vector3 minimise(const std::vector<Observation>& seen, const Prior& prior, Vector3 theta) {
  double damping = 1e-3;
  double least = cost(seen, prior, theta);
  for (int i = 0; i < 60 && damping < 1e9; ++i) {
    Vector3 gradient;
    Matrix3 normal;
    linearise(seen, prior, theta, gradient, normal);
    const Vector3 next = step_from(theta, gradient, normal, damping);
    const double found = cost(seen, prior, next);
    if (found < least) {
      const bool settled = least - found < 1e-10 * (1 + least);
      theta = next;
      least = found;
      damping = std::max(damping / 5, 1e-9);
      if (settled) break;
    } else {
      damping *= 10;
    }
  }
  return theta;
}

Vector3 start_of(const std::vector<Observation>& seen) {
  double best = -std::numeric_limits<double>::infinity();
  for (const Observation& one : seen) best = std::max(best, one.log_rate - std::log(one.processes));
  return {best, 0.05, 0.001};
}

// The deviation of a point from the curve: residuals beyond what the repeats explain, shrunk
// towards kPriorNoise because a handful of points cannot tell.
double noise_of(const std::vector<Observation>& seen, const Vector3& theta) {
  double sum = kPriorNoiseDof * kPriorNoise * kPriorNoise;
  for (const Observation& one : seen) {
    const double r = one.log_rate - std::log(curve_of(theta).at(one.processes));
    const double held = std::min(std::abs(r), kHuber * one.stddev);
    sum += held * held;
  }
  const double dof = std::max(0.0, static_cast<double>(seen.size()) - 3);
  return std::max(kMinNoise, std::sqrt(sum / (kPriorNoiseDof + dof)));
}

void set_stddevs(std::vector<Observation>& seen, double noise) {
  for (Observation& one : seen) {
    one.stddev = std::sqrt(std::max(noise * noise, one.repeat_variance));
  }
}

std::vector<Observation> observe(const std::vector<ScalingPoint>& points) {
  std::vector<Observation> seen;
  for (const ScalingPoint& point : points) {
    std::vector<double> logs;
    for (double rate : point.samples_per_second) logs.push_back(std::log(rate));
    const double spread = logs.size() > 2 ? stddev(logs) : 0;
    // The variance of a median is about pi / 2 times that of a mean.
    const double variance = 1.57 * spread * spread / static_cast<double>(logs.size());
    seen.push_back({static_cast<double>(point.processes), median(logs), variance, kPriorNoise});
  }
  return seen;
}

// Points, prior and noise level drawn anew: what another day's measurement might have shown.
std::vector<UslCurve> bootstrap(const std::vector<Observation>& seen, const Vector3& fitted,
                                const ScalingOptions& options) {
  Random random(options.seed);
  const double dof = kPriorNoiseDof + std::max(0.0, static_cast<double>(seen.size()) - 3);
  std::vector<UslCurve> draws;
  draws.reserve(static_cast<std::size_t>(options.rounds));
  for (int round = 0; round < options.rounds; ++round) {
    double chi = 0;  // chi-squared with `dof` degrees, rounded down
    for (int i = 0; i < static_cast<int>(dof); ++i) {
      const double z = random.normal();
      chi += z * z;
    }
    // The noise itself is known from few points: a draw of it widens or narrows all of them.
    const double inflation = std::sqrt(std::floor(dof) / std::max(chi, 0.1));
    std::vector<Observation> drawn = seen;
    for (Observation& one : drawn) {
      one.stddev *= std::min(inflation, 5.0);
      one.log_rate += one.stddev * random.normal();
    }
    const Prior prior{kSigmaSpread * random.normal(), kKappaSpread * random.normal()};
    draws.push_back(curve_of(minimise(drawn, prior, fitted)));
  }
  return draws;
}

}  // namespace

double UslCurve::at(double processes) const {
  const double n = processes;
  return gamma * n / (1 + sigma * (n - 1) + kappa * n * (n - 1));
}

std::vector<ScalingPoint> merge_points(const std::vector<ScalingPoint>& points) {
  std::map<int, ScalingPoint> merged;
  for (const ScalingPoint& point : points) {
    if (point.processes < 1) continue;
    for (double rate : point.samples_per_second) {
      if (!std::isfinite(rate) || rate <= 0) continue;
      ScalingPoint& into = merged[point.processes];
      into.processes = point.processes;
      into.threads = point.threads;
      into.samples_per_second.push_back(rate);
    }
  }
  std::vector<ScalingPoint> ordered;
  for (auto& [processes, point] : merged) ordered.push_back(std::move(point));
  return ordered;
}

Result<ScalingFit> fit_scaling(const std::vector<ScalingPoint>& points,
                               const ScalingOptions& options) {
  const std::vector<ScalingPoint> merged = merge_points(points);
  if (merged.empty()) return Error{ErrorKind::invalid, "no setting was measured with a rate"};
  std::vector<Observation> seen = observe(merged);
  Vector3 theta = start_of(seen);
  double noise = kPriorNoise;
  // Fit and noise depend on each other.
  for (int i = 0; i < 4; ++i) {
    set_stddevs(seen, noise);
    theta = minimise(seen, Prior{}, theta);
    noise = noise_of(seen, theta);
  }
  set_stddevs(seen, noise);

  ScalingFit fit;
  fit.curve = curve_of(theta);
  fit.noise = noise;
  fit.confidence = options.confidence;
  fit.max_processes = merged.back().processes;
  fit.draws = bootstrap(seen, theta, options);
  return fit;
}

Interval predict_rate(const ScalingFit& fit, double processes) {
  // The seed follows the number of processes: the same question has the same answer.
  Random random(mix_bits(static_cast<std::uint64_t>(processes * 1024)));
  std::vector<double> rates;
  for (const UslCurve& draw : fit.draws) {
    rates.push_back(draw.at(processes) * std::exp(fit.noise * random.normal()));
  }
  const double tail = (1 - fit.confidence) / 2;
  const double centre = median(rates);
  return {centre, quantile(rates, tail), quantile(rates, 1 - tail)};
}

}  // namespace ocrtune
