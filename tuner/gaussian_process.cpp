#include "tuner/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Dense>

#include "base/random.h"

namespace ocrtune {
namespace {

double matern(double squared_distance) {
  const double r = std::sqrt(5 * squared_distance);
  return (1 + r + r * r / 3) * std::exp(-r);
}

// Logarithms of the kernel's scales, with normal priors.
struct Scales {
  double amplitude = std::log(0.12);
  double length = std::log(2.5);  // of all features together, in doublings
  double roughness = std::log(0.015);
  std::vector<double> stretch;  // of each feature: log of its own length over the common one

  double penalty() const {
    const auto square = [](double x) { return 0.5 * x * x; };
    double sum = square((amplitude - std::log(0.12)) / 0.6) +
                 square((length - std::log(2.5)) / 0.4) +
                 square((roughness - std::log(0.015)) / 0.5);
    for (double value : stretch) sum += square(value / 0.5);
    return sum;
  }
};

}  // namespace

struct GaussianProcess::State {
  Scales scales;
  std::vector<GpObservation> seen;
  std::vector<double> doubt;  // factor on each observation's variance
  std::vector<double> surprise;
  Eigen::LLT<Eigen::MatrixXd> factor;
  Eigen::VectorXd weights;
  Random random{7};

  double kernel(const GpRow& a, const GpRow& b, const Scales& with) const {
    double squared = 0;
    const double inverse = std::exp(-2 * with.length);
    for (std::size_t i = 0; i < a.features.size(); ++i) {
      const double gap = a.features[i] - b.features[i];
      squared += gap * gap * std::exp(-2 * with.stretch[i]);
    }
    double value = std::exp(2 * with.amplitude) * matern(squared * inverse);
    for (std::size_t i = 0; i < a.tangent.size(); ++i) value += a.tangent[i] * b.tangent[i];
    return value;
  }

  Eigen::MatrixXd gram(const Scales& with) const {
    const auto count = static_cast<Eigen::Index>(seen.size());
    std::vector<double> inverse;
    for (double stretch : with.stretch) inverse.push_back(std::exp(-2 * (stretch + with.length)));
    const double height = std::exp(2 * with.amplitude);
    const double rough = std::exp(2 * with.roughness);
    Eigen::MatrixXd k(count, count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const GpObservation& a = seen[static_cast<std::size_t>(i)];
      for (Eigen::Index j = 0; j <= i; ++j) {
        const GpObservation& b = seen[static_cast<std::size_t>(j)];
        double squared = 0;
        for (std::size_t f = 0; f < inverse.size(); ++f) {
          const double gap = a.row.features[f] - b.row.features[f];
          squared += gap * gap * inverse[f];
        }
        double value = height * matern(squared);
        for (std::size_t f = 0; f < a.row.tangent.size(); ++f) {
          value += a.row.tangent[f] * b.row.tangent[f];
        }
        if (a.point == b.point) value += rough;
        if (i == j) value += a.variance * doubt[static_cast<std::size_t>(i)] + 1e-8;
        k(i, j) = value;
        k(j, i) = value;
      }
    }
    return k;
  }

  Eigen::VectorXd values() const {
    Eigen::VectorXd y(static_cast<Eigen::Index>(seen.size()));
    for (std::size_t i = 0; i < seen.size(); ++i) y[static_cast<Eigen::Index>(i)] = seen[i].value;
    return y;
  }

  double loss(const Scales& with) const {
    const Eigen::LLT<Eigen::MatrixXd> llt(gram(with));
    if (llt.info() != Eigen::Success) return 1e30;
    const Eigen::VectorXd y = values();
    const Eigen::MatrixXd lower = llt.matrixL();
    return 0.5 * y.dot(llt.solve(y)) + lower.diagonal().array().log().sum() + with.penalty();
  }

  void tune(int steps) {
    double best = loss(scales);
    const std::size_t moves = 3 + scales.stretch.size();
    for (int step = 0; step < steps; ++step) {
      Scales next = scales;
      const auto which =
          static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(moves) - 1));
      const double by = 0.5 * random.normal();
      if (which == 0) next.amplitude += by;
      if (which == 1) next.length += by;
      if (which == 2) next.roughness += by;
      if (which >= 3) next.stretch[which - 3] += by;
      const double there = loss(next);
      if (there >= best) continue;
      best = there;
      scales = next;
    }
  }

  void solve() {
    factor.compute(gram(scales));
    weights = factor.solve(values());
  }

  // Leave-one-out residuals, from the inverse (Rasmussen and Williams, eq. 5.12).
  bool find_surprises() {
    const auto count = static_cast<Eigen::Index>(seen.size());
    const Eigen::MatrixXd inverse = factor.solve(Eigen::MatrixXd::Identity(count, count));
    surprise.assign(seen.size(), 0.0);
    bool changed = false;
    for (Eigen::Index i = 0; i < count; ++i) {
      const double variance = 1 / inverse(i, i);
      const auto at = static_cast<std::size_t>(i);
      surprise[at] = weights[i] * variance / std::sqrt(variance);
      const double bar = 3.5;
      // Other load only ever slows a trial: a low value may be false, a high one is true.
      if (surprise[at] < -bar && doubt[at] < 100) {
        doubt[at] = std::min(400.0, 1 + 20 * std::pow(surprise[at] / bar, 2));
        changed = true;
      }
    }
    return changed;
  }
};

GaussianProcess::GaussianProcess() : state_(std::make_unique<State>()) {}
GaussianProcess::~GaussianProcess() = default;

void GaussianProcess::fit(const std::vector<GpObservation>& observations, int tune_steps) {
  State& state = *state_;
  state.seen = observations;
  state.doubt.assign(observations.size(), 1.0);
  state.surprise.assign(observations.size(), 0.0);
  if (observations.empty()) return;
  state.scales.stretch.resize(observations[0].row.features.size(), 0.0);
  if (tune_steps > 0) state.tune(tune_steps);
  state.solve();
  if (observations.size() >= 8 && state.find_surprises()) {
    const std::vector<double> first = state.surprise;
    state.solve();
    state.surprise = first;
  }
}

GpForecast GaussianProcess::forecast(const GpRow& row, int point) const {
  const State& state = *state_;
  const double rough = std::exp(2 * state.scales.roughness);
  double prior = std::exp(2 * state.scales.amplitude) + rough;
  for (double value : row.tangent) prior += value * value;
  if (state.seen.empty()) return {0, std::sqrt(prior)};
  const auto count = static_cast<Eigen::Index>(state.seen.size());
  Eigen::VectorXd k(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const GpObservation& seen = state.seen[static_cast<std::size_t>(i)];
    k[i] = state.kernel(row, seen.row, state.scales) + (seen.point == point ? rough : 0.0);
  }
  const double mean = k.dot(state.weights);
  const Eigen::VectorXd half = state.factor.matrixL().solve(k);
  return {mean, std::sqrt(std::max(prior - half.squaredNorm(), 1e-10))};
}

double GaussianProcess::covariance(const GpRow& a, int point_a, const GpRow& b, int point_b) const {
  const State& state = *state_;
  const double rough = std::exp(2 * state.scales.roughness);
  double prior = state.kernel(a, b, state.scales) + (point_a == point_b ? rough : 0.0);
  const auto count = static_cast<Eigen::Index>(state.seen.size());
  if (count == 0) return prior;
  Eigen::VectorXd ka(count);
  Eigen::VectorXd kb(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const GpObservation& seen = state.seen[static_cast<std::size_t>(i)];
    ka[i] = state.kernel(a, seen.row, state.scales) + (seen.point == point_a ? rough : 0.0);
    kb[i] = state.kernel(b, seen.row, state.scales) + (seen.point == point_b ? rough : 0.0);
  }
  return prior - ka.dot(state.factor.solve(kb));
}

const std::vector<double>& GaussianProcess::surprises() const { return state_->surprise; }
double GaussianProcess::roughness() const { return std::exp(state_->scales.roughness); }

}  // namespace ocrtune
