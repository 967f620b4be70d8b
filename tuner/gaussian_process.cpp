#include "tuner/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Dense>

namespace ocrtune {
namespace {

constexpr double kCurveLength = 2.0;  // in doublings
constexpr double kSmoothLength = 4.0;
constexpr double kShortLength = 1.5;

double matern_3(double distance) {
  const double r = std::sqrt(3.0) * distance;
  return (1 + r) * std::exp(-r);
}

double matern_5(double distance) {
  const double r = std::sqrt(5.0) * distance;
  return (1 + r + r * r / 3) * std::exp(-r);
}

// Prior of the logarithm of a part's deviation.
struct Part {
  double centre = 0;
  double width = 1;
};

}  // namespace

// Parts in order: one curve for each of the first features, smooth surface, short waves, roughness.
struct GaussianProcess::State {
  std::size_t curves = 0;
  std::vector<Part> priors;
  std::vector<double> scales;  // logarithm of each part's deviation
  std::vector<GpObservation> seen;
  std::vector<double> doubt;  // factor on each observation's variance
  std::vector<double> surprise;
  Eigen::LLT<Eigen::MatrixXd> factor;
  Eigen::VectorXd weights;

  std::size_t smooth() const { return curves; }
  std::size_t waves() const { return curves + 1; }
  std::size_t pairs() const { return curves + 2; }
  std::size_t rough() const { return curves + 3; }

  double variance(std::size_t part) const { return std::exp(2 * scales[part]); }

  // Correlations by part; roughness is not among them.
  void correlate(const GpRow& a, const GpRow& b, double* into) const {
    double squared = 0;
    double sum = 0;
    double squares = 0;
    for (std::size_t f = 0; f < a.features.size(); ++f) {
      const double gap = std::fabs(a.features[f] - b.features[f]);
      double alike = gap == 0 ? 1.0 : 0.0;
      if (f < curves) {
        squared += gap * gap;
        if (gap > 0) alike = matern_3(gap / kCurveLength);
        into[f] = alike;
      } else if (gap > 0) {
        squared += 2;
      }
      sum += alike;
      squares += alike * alike;
    }
    const auto count = static_cast<double>(a.features.size());
    into[pairs()] = count < 2 ? 0.0 : (sum * sum - squares) / (count * (count - 1));
    const double distance = std::sqrt(squared);
    into[smooth()] = matern_5(distance / kSmoothLength);
    into[waves()] = matern_5(distance / kShortLength);
  }

  static double tangent_product(const GpRow& a, const GpRow& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.tangent.size(); ++i) sum += a.tangent[i] * b.tangent[i];
    return sum;
  }

  double kernel(const GpRow& a, const GpRow& b) const {
    double parts[64];
    correlate(a, b, parts);
    double value = tangent_product(a, b);
    for (std::size_t p = 0; p < rough(); ++p) value += variance_[p] * parts[p];
    return value;
  }

  double prior(const GpRow& row) const {
    double value = tangent_product(row, row) + variance_[rough()];
    for (std::size_t p = 0; p < rough(); ++p) value += variance_[p];
    return value;
  }

  Eigen::VectorXd values() const {
    Eigen::VectorXd y(static_cast<Eigen::Index>(seen.size()));
    for (std::size_t i = 0; i < seen.size(); ++i) y[static_cast<Eigen::Index>(i)] = seen[i].value;
    return y;
  }

  // One correlation matrix a part, roughness included, and what does not change with the scales.
  std::vector<Eigen::MatrixXd> matrices;
  Eigen::MatrixXd fixed;
  std::vector<double> variance_;

  void assemble() {
    const auto count = static_cast<Eigen::Index>(seen.size());
    matrices.assign(rough() + 1, Eigen::MatrixXd(count, count));
    fixed.resize(count, count);
    std::vector<double> parts(rough());
    for (Eigen::Index i = 0; i < count; ++i) {
      const GpObservation& a = seen[static_cast<std::size_t>(i)];
      for (Eigen::Index j = 0; j <= i; ++j) {
        const GpObservation& b = seen[static_cast<std::size_t>(j)];
        correlate(a.row, b.row, parts.data());
        for (std::size_t p = 0; p < parts.size(); ++p) {
          matrices[p](i, j) = matrices[p](j, i) = parts[p];
        }
        matrices[rough()](i, j) = matrices[rough()](j, i) = a.point == b.point ? 1.0 : 0.0;
        fixed(i, j) = fixed(j, i) = tangent_product(a.row, b.row);
      }
    }
  }

  Eigen::MatrixXd gram(const std::vector<double>& at) const {
    Eigen::MatrixXd k = fixed;
    for (std::size_t p = 0; p < at.size(); ++p) k += std::exp(2 * at[p]) * matrices[p];
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      const auto seen_at = static_cast<std::size_t>(i);
      k(i, i) += seen[seen_at].variance * doubt[seen_at] + 1e-8;
    }
    return k;
  }

  // Negative logarithm of the posterior of the scales, and its slope.
  double loss(const std::vector<double>& at, std::vector<double>& slope) const {
    const Eigen::LLT<Eigen::MatrixXd> llt(gram(at));
    if (llt.info() != Eigen::Success) return 1e30;
    const auto count = static_cast<Eigen::Index>(seen.size());
    const Eigen::VectorXd y = values();
    const Eigen::VectorXd alpha = llt.solve(y);
    const Eigen::MatrixXd inverse = llt.solve(Eigen::MatrixXd::Identity(count, count));
    double sum = 0.5 * y.dot(alpha);
    for (Eigen::Index i = 0; i < count; ++i) sum += std::log(llt.matrixLLT()(i, i));
    for (std::size_t p = 0; p < at.size(); ++p) {
      const double off = (at[p] - priors[p].centre) / priors[p].width;
      sum += 0.5 * off * off;
      const double pull = alpha.dot(matrices[p] * alpha) - inverse.cwiseProduct(matrices[p]).sum();
      slope[p] = off / priors[p].width - std::exp(2 * at[p]) * pull;
    }
    return sum;
  }

  // Steps of each scale's own size, longer while its slope keeps its sign (resilient propagation).
  void climb(int steps) {
    std::vector<double> at = scales;
    std::vector<double> slope(at.size()), last(at.size(), 0.0), size(at.size(), 0.2);
    double best = 1e30;
    for (int step = 0; step <= steps; ++step) {
      const double here = loss(at, slope);
      if (here < best) {
        best = here;
        scales = at;
      }
      for (std::size_t p = 0; p < at.size(); ++p) {
        const double turn = slope[p] * last[p];
        if (turn > 0) size[p] = std::min(size[p] * 1.3, 0.8);
        if (turn < 0) size[p] *= 0.5;
        last[p] = slope[p];
        at[p] -= slope[p] > 0 ? size[p] : slope[p] < 0 ? -size[p] : 0.0;
      }
    }
  }

  void solve() {
    variance_.resize(scales.size());
    for (std::size_t p = 0; p < scales.size(); ++p) variance_[p] = variance(p);
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
      const auto at = static_cast<std::size_t>(i);
      surprise[at] = weights[i] / std::sqrt(inverse(i, i));
      const double bar = 3.5;
      // Other load only ever slows a trial: a low value may be false, a high one is true.
      if (surprise[at] < -bar && doubt[at] < 100) {
        doubt[at] = std::min(400.0, 1 + 20 * std::pow(surprise[at] / bar, 2));
        changed = true;
      }
    }
    return changed;
  }

  Eigen::VectorXd against_seen(const GpRow& row, int point) const {
    Eigen::VectorXd k(static_cast<Eigen::Index>(seen.size()));
    for (std::size_t i = 0; i < seen.size(); ++i) {
      k[static_cast<Eigen::Index>(i)] =
          kernel(row, seen[i].row) + (seen[i].point == point ? variance_[rough()] : 0.0);
    }
    return k;
  }
};

GaussianProcess::GaussianProcess(int curves) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.curves = static_cast<std::size_t>(curves);
  state.priors.assign(state.curves, {std::log(0.08), 0.8});
  state.priors.push_back({std::log(0.08), 0.6});
  state.priors.push_back({std::log(0.03), 0.6});
  state.priors.push_back({std::log(0.10), 0.6});
  state.priors.push_back({std::log(0.015), 0.5});
  for (const Part& part : state.priors) state.scales.push_back(part.centre);
}

GaussianProcess::~GaussianProcess() = default;

void GaussianProcess::fit(const std::vector<GpObservation>& observations, int climb_steps) {
  State& state = *state_;
  state.seen = observations;
  state.doubt.assign(observations.size(), 1.0);
  state.surprise.assign(observations.size(), 0.0);
  if (observations.empty()) return;
  state.assemble();
  if (climb_steps > 0) state.climb(climb_steps);
  state.solve();
  if (observations.size() >= 8 && state.find_surprises()) {
    const std::vector<double> first = state.surprise;
    state.solve();
    state.surprise = first;
  }
}

GpForecast GaussianProcess::forecast(const GpRow& row, int point) const {
  const State& state = *state_;
  if (state.seen.empty()) return {0, 1};
  const Eigen::VectorXd k = state.against_seen(row, point);
  const double mean = k.dot(state.weights);
  const Eigen::VectorXd half = state.factor.matrixL().solve(k);
  return {mean, std::sqrt(std::max(state.prior(row) - half.squaredNorm(), 1e-10))};
}

double GaussianProcess::covariance(const GpRow& a, int point_a, const GpRow& b, int point_b) const {
  const State& state = *state_;
  if (state.seen.empty()) return 0;
  const double prior = state.kernel(a, b) + (point_a == point_b ? state.variance_[state.rough()] : 0);
  return prior - state.against_seen(a, point_a)
                     .dot(state.factor.solve(state.against_seen(b, point_b)));
}

const std::vector<double>& GaussianProcess::surprises() const { return state_->surprise; }
double GaussianProcess::roughness() const { return std::exp(state_->scales[state_->rough()]); }

}  // namespace ocrtune
