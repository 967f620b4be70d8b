// One Cholesky factor of the summed kernel serves forecasts, covariances and leave-one-out
// residuals; the caller keeps it to some 160 rows. Beside the parts of the header there is one of
// pairs: products of the correlations of two features.
#include "tuner/models/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <Eigen/Dense>

namespace ocrtune {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Lengths are fixed and guesses; the observations choose the variances alone.
constexpr double kCurveLength = 2.0;  // in doublings
constexpr double kSmoothLength = 4.0;
constexpr double kShortLength = 1.5;
constexpr double kDriftLength = 10.0;  // in trials
constexpr double kSurprise = 3.5;      // deviations below what the others say

template <typename Distances>
ArrayXd matern_3(const Distances& distances, double length) {
  const ArrayXd r = distances * (std::sqrt(3.0) / length);
  return (1 + r) * (-r).exp();
}

ArrayXd matern_5(const ArrayXd& distances, double length) {
  const ArrayXd r = distances * (std::sqrt(5.0) / length);
  return (1 + r + r.square() / 3) * (-r).exp();
}

// Prior of the logarithm of a part's deviation.
struct Part {
  double centre = 0;
  double width = 1;
};

// Rows side by side, for arithmetic over all of them at once.
struct Block {
  MatrixXd features;  // [rows, features]
  MatrixXd tangents;  // [rows, parameters]
  std::vector<int> points;
  ArrayXd whens;

  void assign(const std::vector<const GpRow*>& rows, std::vector<int> row_points) {
    points = std::move(row_points);
    const auto count = static_cast<Index>(rows.size());
    const auto size = [&](const std::vector<double>& row) {
      return static_cast<Index>(row.size());
    };
    features.resize(count, count > 0 ? size(rows[0]->features) : 0);
    tangents.resize(count, count > 0 ? size(rows[0]->tangent) : 0);
    whens.resize(count);
    for (Index i = 0; i < count; ++i) {
      const GpRow& row = *rows[static_cast<std::size_t>(i)];
      whens[i] = row.when;
      features.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.features.data(), features.cols());
      tangents.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.tangent.data(), tangents.cols());
    }
  }

  ArrayXd same_point(int point) const {
    ArrayXd same(static_cast<Index>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i) {
      same[static_cast<Index>(i)] = points[i] == point ? 1.0 : 0.0;
    }
    return same;
  }

  // Rows at no time in particular share no drift.
  ArrayXd same_time(double when) const {
    return matern_5((whens - when).abs(), kDriftLength) * (whens >= 0).cast<double>();
  }

  VectorXd tangent_products(const GpRow& row) const {
    return tangents * Eigen::Map<const VectorXd>(row.tangent.data(), tangents.cols());
  }
};

}  // namespace

// Parts in order: one curve for each of the first features, smooth surface, short waves, pairs,
// roughness, drift over time.
struct GaussianProcess::State {
  std::size_t curves = 0;
  std::vector<Part> priors;
  std::vector<double> scales;     // logarithm of each part's deviation
  std::vector<double> variances;  // of the parts, by the scales
  std::vector<double> values;     // observed
  std::vector<double> noise;      // variance of each
  std::vector<double> doubt;      // factor on it
  std::vector<double> surprise;
  Block seen;
  Eigen::LLT<MatrixXd> factor;
  VectorXd weights;
  Block watched;
  MatrixXd watched_shares;  // [seen, watched]: what the observations explain of each
  MatrixXd other_weights;   // [seen, others]

  std::size_t smooth() const { return curves; }
  std::size_t waves() const { return curves + 1; }
  std::size_t pairs() const { return curves + 2; }
  std::size_t rough() const { return curves + 3; }
  std::size_t drift() const { return curves + 4; }

  // Correlations of a row with every row of the block, handed out part by part.
  template <typename Take>
  void correlate(const Block& block, const GpRow& row, int point, Take take) const {
    const Index rows = block.features.rows();
    ArrayXd squared = ArrayXd::Zero(rows), sum = ArrayXd::Zero(rows), squares = ArrayXd::Zero(rows);
    for (std::size_t f = 0; f < row.features.size(); ++f) {
      const ArrayXd gap =
          (block.features.col(static_cast<Index>(f)).array() - row.features[f]).abs();
      ArrayXd alike;
      if (f < curves) {
        squared += gap.square();
        alike = matern_3(gap, kCurveLength);
        take(f, alike);
      } else {
        // A word: alike or not. Two that differ lie sqrt(2) doublings apart.
        alike = (gap < 0.5).cast<double>();
        squared += 2 * (1 - alike);
      }
      sum += alike;
      squares += alike.square();
    }
    const ArrayXd distances = squared.sqrt();
    take(smooth(), matern_5(distances, kSmoothLength));
    take(waves(), matern_5(distances, kShortLength));
    const auto count = static_cast<double>(row.features.size());
    // Products over all pairs from two sums; divided so that a row has 1 with itself.
    const double all_pairs = std::max(1.0, count * (count - 1));
    take(pairs(), ArrayXd((sum.square() - squares) / all_pairs));
    take(rough(), block.same_point(point));
    if (row.when >= 0) take(drift(), block.same_time(row.when));
  }

  // The prior covariance of the structured parameters is the identity: their part is a product.
  VectorXd kernel(const Block& block, const GpRow& row, int point) const {
    return block.tangent_products(row) + kernel_of_parts(block, row, point);
  }

  VectorXd kernel_of_parts(const Block& block, const GpRow& row, int point) const {
    VectorXd value = VectorXd::Zero(block.features.rows());
    correlate(block, row, point, [&](std::size_t part, const ArrayXd& correlations) {
      value.array() += variances[part] * correlations;
    });
    return value;
  }

  // Variance before any observation; every part correlates by 1 with itself.
  double prior(const GpRow& row) const {
    double value = 0;
    for (double slope : row.tangent) value += slope * slope;
    for (double variance : variances) value += variance;
    return row.when >= 0 ? value : value - variances[drift()];
  }

  VectorXd observed() const {
    return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
  }

  // One correlation matrix a part, and what does not change with the scales.
  std::vector<MatrixXd> matrices;
  MatrixXd fixed;

  void assemble(const std::vector<GpObservation>& observations) {
    const auto count = static_cast<Index>(observations.size());
    matrices.assign(drift() + 1, MatrixXd::Zero(count, count));
    fixed.resize(count, count);
    for (Index i = 0; i < count; ++i) {
      const GpObservation& at = observations[static_cast<std::size_t>(i)];
      fixed.col(i) = seen.tangent_products(at.row);
      correlate(seen, at.row, at.point, [&](std::size_t part, const ArrayXd& correlations) {
        matrices[part].col(i) = correlations;
      });
    }
  }

  MatrixXd gram(const std::vector<double>& at) const {
    MatrixXd k = fixed;
    for (std::size_t p = 0; p < at.size(); ++p) k += std::exp(2 * at[p]) * matrices[p];
    for (Index i = 0; i < k.rows(); ++i) {
      const auto row = static_cast<std::size_t>(i);
      // 1e-8 keeps the matrix positive definite where rows repeat.
      k(i, i) += noise[row] * doubt[row] + 1e-8;
    }
    return k;
  }

  // Negative logarithm of the posterior of the scales, and its slope.
  double loss(const std::vector<double>& at, std::vector<double>& slope) const {
    const Eigen::LLT<MatrixXd> llt(gram(at));
    // Such scales are never the best; the slope of the step before stays.
    if (llt.info() != Eigen::Success) return 1e30;
    const auto count = static_cast<Index>(values.size());
    const VectorXd y = observed();
    const VectorXd alpha = llt.solve(y);
    const MatrixXd inverse = llt.solve(MatrixXd::Identity(count, count));
    double sum = 0.5 * y.dot(alpha);
    for (Index i = 0; i < count; ++i) sum += std::log(llt.matrixLLT()(i, i));
    for (std::size_t p = 0; p < at.size(); ++p) {
      const double off = (at[p] - priors[p].centre) / priors[p].width;
      sum += 0.5 * off * off;
      // Rasmussen and Williams, eq. 5.9. A scale is the logarithm of a deviation: d variance = 2
      // variance.
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
    for (std::size_t p = 0; p < scales.size(); ++p) variances[p] = std::exp(2 * scales[p]);
    factor.compute(gram(scales));
    weights = factor.solve(observed());
  }

  // Leave-one-out residuals, from the inverse (Rasmussen and Williams, eq. 5.12).
  bool find_surprises() {
    const auto count = static_cast<Index>(values.size());
    const MatrixXd inverse = factor.solve(MatrixXd::Identity(count, count));
    bool changed = false;
    for (Index i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      surprise[at] = weights[i] / std::sqrt(inverse(i, i));
      // Other load only ever slows a trial: a low value may be false, a high one is true.
      if (surprise[at] < -kSurprise) {
        // From a factor of 21 on the variance, with the square of the surprise (guesses).
        doubt[at] = std::min(400.0, 1 + 20 * std::pow(surprise[at] / kSurprise, 2));
        changed = true;
      }
    }
    return changed;
  }
};

GaussianProcess::GaussianProcess(int curves) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.curves = static_cast<std::size_t>(curves);
  // Curves, surface, short waves, pairs, roughness, drift: relative deviations, guesses that the
  // climb corrects.
  state.priors.assign(state.curves, {std::log(0.08), 0.8});
  state.priors.push_back({std::log(0.08), 0.6});
  state.priors.push_back({std::log(0.03), 0.6});
  state.priors.push_back({std::log(0.10), 0.6});
  state.priors.push_back({std::log(0.015), 0.5});
  state.priors.push_back({std::log(0.01), 0.6});
  for (const Part& part : state.priors) state.scales.push_back(part.centre);
  state.variances.resize(state.scales.size());
}

GaussianProcess::~GaussianProcess() = default;

void GaussianProcess::fit(const std::vector<GpObservation>& observations, int climb_steps) {
  State& state = *state_;
  std::vector<const GpRow*> rows;
  std::vector<int> points;
  state.values.clear();
  state.noise.clear();
  for (const GpObservation& at : observations) {
    rows.push_back(&at.row);
    points.push_back(at.point);
    state.values.push_back(at.value);
    state.noise.push_back(at.variance);
  }
  state.seen.assign(rows, std::move(points));
  state.watched.assign({}, {});
  state.other_weights.resize(0, 0);
  state.doubt.assign(observations.size(), 1.0);
  state.surprise.assign(observations.size(), 0.0);
  if (observations.empty()) return;
  state.assemble(observations);
  if (climb_steps > 0) state.climb(climb_steps);
  state.solve();
  constexpr std::size_t kEnoughToDoubt = 8;
  if (observations.size() >= kEnoughToDoubt && state.find_surprises()) state.solve();
}

void GaussianProcess::watch(const std::vector<GpRow>& rows, const std::vector<int>& points) {
  State& state = *state_;
  std::vector<const GpRow*> pointers;
  for (const GpRow& row : rows) pointers.push_back(&row);
  state.watched.assign(pointers, points);
  state.watched_shares.resize(static_cast<Index>(state.values.size()),
                              static_cast<Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Half of a solution: the product of two such halves is what the observations explain of both.
    state.watched_shares.col(static_cast<Index>(i)) =
        state.factor.matrixL().solve(state.kernel(state.seen, rows[i], points[i]));
  }
}

GpForecast GaussianProcess::forecast(const GpRow& row, int point) const {
  const State& state = *state_;
  if (state.values.empty()) return {0, 1, {}, {}};
  const VectorXd parts = state.kernel_of_parts(state.seen, row, point);
  const VectorXd k = parts + state.seen.tangent_products(row);
  const VectorXd share = state.factor.matrixL().solve(k);
  const double variance = state.prior(row) - share.squaredNorm();
  GpForecast forecast{k.dot(state.weights), std::sqrt(std::max(variance, 1e-10)), {}, {}};
  if (state.other_weights.cols() > 0) {
    const VectorXd others = state.other_weights.transpose() * parts;
    forecast.others.assign(others.data(), others.data() + others.size());
  }
  if (state.watched.points.empty()) return forecast;
  const VectorXd covariances =
      state.kernel(state.watched, row, point) - state.watched_shares.transpose() * share;
  forecast.covariances.assign(covariances.data(), covariances.data() + covariances.size());
  return forecast;
}

std::vector<double> GaussianProcess::retell(const std::vector<std::vector<double>>& values) {
  State& state = *state_;
  const auto rows = static_cast<Index>(state.values.size());
  // Without the tangent's part: each explanation has parameters of its own and leaves these values
  // over.
  const Eigen::LLT<MatrixXd> factor(state.gram(state.scales) - state.fixed);
  state.other_weights.resize(rows, static_cast<Index>(values.size()));
  std::vector<double> unlikely;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Eigen::Map<const VectorXd> told(values[i].data(), rows);
    const VectorXd weights = factor.solve(told);
    unlikely.push_back(0.5 * told.dot(weights));
    state.other_weights.col(static_cast<Index>(i)) = weights;
  }
  return unlikely;
}

const std::vector<double>& GaussianProcess::surprises() const { return state_->surprise; }

}  // namespace ocrtune
