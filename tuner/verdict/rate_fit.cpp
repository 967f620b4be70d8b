// Problem holds one generalised least squares fit: variances are chosen by restricted maximum
// likelihood over a few shares, then weights and noises are renewed in passes. Beyond kMaxJoint
// trials only raced settings are fitted together, the others each alone.
#include "tuner/verdict/rate_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <Eigen/Dense>

#include "base/normal.h"
#include "tuner/models/repeats.h"

namespace ocrtune {
namespace {

constexpr double kPriorDof = 4;          // what the pooled noise counts as, for one setting
constexpr double kOutlierDof = 4;        // of the Student t that doubts single trials
constexpr double kNormalOfMad = 1.4826;  // standard deviation of a normal, in median deviations
constexpr double kOwnModel = 0.3;  // of a model's error, what the settings of a team have apart
constexpr int kPasses = 6;
constexpr std::size_t kMaxJoint = 250;  // trials in one fit: its cost grows with their cube
constexpr double kMoreShares[] = {0.5, 1, 2, 4, 8, 16};  // of the rounds' deviation to the trials'

using Eigen::MatrixXd;
using Eigen::VectorXd;

// One fit for given variances; `likelihood` is the restricted one's logarithm.
struct Solved {
  VectorXd rates;
  VectorXd residuals;
  double likelihood = 0;
};

struct Covariances {
  MatrixXd all, model;  // model: of what the models do not know
};

class Problem {
 public:
  Problem(const std::vector<RateObservation>& observations, std::size_t settings, double noise)
      : seen_(observations),
        noise_(noise),
        doubt_(observations.size(), 1),
        own_noise_(settings, noise) {
    // Only settings that were seen have a column.
    std::vector<int> column(settings, -1);
    for (const RateObservation& one : seen_) {
      if (column[one.setting] < 0) {
        column[one.setting] = static_cast<int>(columns_.size());
        columns_.push_back(one.setting);
      }
    }
    design_ = MatrixXd::Zero(rows(), static_cast<Eigen::Index>(columns_.size()));
    values_.resize(rows());
    for (Eigen::Index i = 0; i < rows(); ++i) {
      design_(i, column[at(i).setting]) = 1;
      values_[i] = at(i).log_rate;
    }
    // Strays and torn pairs are found before the fit, which would else share their error out.
    model_ = model_variance();
    doubt_strays();
    find_torn();
  }

  const std::vector<std::size_t>& columns() const { return columns_; }
  double noise(std::size_t setting) const { return own_noise_[setting]; }

  Solved run() {
    Solved best = likeliest();
    for (int pass = 0; pass < kPasses; ++pass) {
      renew(best);
      best = solve(share_);
    }
    return best;
  }

  // Of the rates of the last run().
  Covariances covariances() const {
    const White white = whiten(share_);
    const auto count = design_.cols();
    const MatrixXd all = white.precision.solve(MatrixXd::Identity(count, count));
    const MatrixXd shares =  // of trials in rates
        all * white.factor.matrixU().solve(white.design).transpose();
    return {all, shares * model_ * shares.transpose()};
  }

 private:
  Eigen::Index rows() const { return static_cast<Eigen::Index>(seen_.size()); }
  const RateObservation& at(Eigen::Index i) const { return seen_[static_cast<std::size_t>(i)]; }

  // A trial that other load slowed is told by its setting's others, of which two or more agree,
  // before its round may take the blame for it.
  void doubt_strays() {
    constexpr std::size_t kFewest = 3;
    std::map<std::size_t, std::vector<double>> rates;
    for (const RateObservation& one : seen_) rates[one.setting].push_back(one.log_rate);
    for (Eigen::Index i = 0; i < rows(); ++i) {
      const std::vector<double>& own = rates[at(i).setting];
      if (own.size() < kFewest) continue;
      const double centre = median(own);
      std::vector<double> away;
      for (const double rate : own) away.push_back(std::abs(rate - centre));
      const double usual = std::max(noise_, kNormalOfMad * median(away));
      const double rest = at(i).log_rate - centre;
      const double square = rest * rest / (usual * usual + at(i).error * at(i).error);
      doubt_[static_cast<std::size_t>(i)] = doubt_of(square);
    }
  }

  // Of two trials of a setting that are far apart either may be the one that was slowed. Unless
  // both ran beside others that tell, nothing does: the setting's noise is what they differ by, and
  // no round may take the blame for either.
  void find_torn() {
    std::map<int, int> company;  // trials of a round
    for (const RateObservation& one : seen_) ++company[one.round];
    std::map<std::size_t, std::vector<const RateObservation*>> trials;
    for (const RateObservation& one : seen_) trials[one.setting].push_back(&one);
    for (const auto& [setting, own] : trials) {
      if (own.size() != 2) continue;
      const bool beside_others = std::ranges::all_of(own, [&](const RateObservation* one) {
        return one->round > 0 && company[one->round] > 1;
      });
      const double spread = spread_of_two(own[0]->log_rate, own[1]->log_rate);
      if (beside_others || spread < kFarOff * std::hypot(noise_, own[0]->error, own[1]->error))
        continue;
      own_noise_[setting] = spread;
      torn_.insert(setting);
    }
  }

  // The weight of a trial that is so many deviations, squared, from where it should be.
  static double doubt_of(double square) {
    // The weight of a Student t, never above that of a plain trial.
    return std::min(1.0, (kOutlierDof + 1) / (kOutlierDof + square));
  }

  double own_variance(Eigen::Index i) const {
    const double noise = own_noise_[at(i).setting];
    return noise * noise + at(i).error * at(i).error;
  }

  MatrixXd variance(double share) const {
    MatrixXd v = MatrixXd::Zero(rows(), rows());
    const double rounds = share * share * noise_ * noise_;
    for (Eigen::Index i = 0; i < rows(); ++i) {
      v(i, i) = own_variance(i) / doubt_[static_cast<std::size_t>(i)];
      for (Eigen::Index j = 0; j < rows(); ++j) {
        // Trials of no round have such a deviation too, each its own.
        if (i == j || (at(i).round > 0 && at(i).round == at(j).round)) v(i, j) += rounds;
      }
    }
    return v;
  }

  MatrixXd model_variance() const {
    MatrixXd v = MatrixXd::Zero(rows(), rows());
    for (Eigen::Index i = 0; i < rows(); ++i) {
      for (Eigen::Index j = 0; j < rows(); ++j) {
        v(i, j) = at(i).sharing_error * at(j).sharing_error;
        const double both = at(i).model_error * at(j).model_error;
        if (at(i).team == at(j).team) v(i, j) += (1 - kOwnModel * kOwnModel) * both;
        if (at(i).setting == at(j).setting) v(i, j) += kOwnModel * kOwnModel * both;
      }
    }
    return v;
  }

  // In units in which each trial has variance 1 and none is correlated with another.
  struct White {
    Eigen::LLT<MatrixXd> factor, precision;  // of the trials' variance; of the rates
    MatrixXd design;
  };

  White whiten(double share) const {
    White white;
    white.factor.compute(variance(share) + model_);
    white.design = white.factor.matrixL().solve(design_);
    MatrixXd precision = MatrixXd::Zero(design_.cols(), design_.cols());
    precision.selfadjointView<Eigen::Lower>().rankUpdate(white.design.transpose());
    white.precision.compute(precision);
    return white;
  }

  Solved solve(double share) const {
    const White white = whiten(share);
    const VectorXd values = white.factor.matrixL().solve(values_);
    Solved solved;
    solved.rates = white.precision.solve(white.design.transpose() * values);
    const VectorXd rest = values - white.design * solved.rates;
    const auto log_root = [](const Eigen::LLT<MatrixXd>& of) {
      return of.matrixLLT().diagonal().array().max(1e-150).log().sum();
    };
    solved.likelihood =
        -log_root(white.factor) - log_root(white.precision) - 0.5 * rest.squaredNorm();
    // What is left of it once its round and its model's error have taken their part.
    solved.residuals = white.factor.matrixU().solve(rest);
    for (Eigen::Index i = 0; i < rows(); ++i) {
      solved.residuals[i] *= own_variance(i) / doubt_[static_cast<std::size_t>(i)];
    }
    return solved;
  }

  bool has_rounds() const {
    std::map<int, int> sizes;
    for (const RateObservation& one : seen_) ++sizes[one.round];
    return std::any_of(sizes.begin(), sizes.end(),
                       [](const auto& round) { return round.first > 0 && round.second > 1; });
  }

  Solved likeliest() {
    Solved best = solve(0);
    if (!has_rounds()) return best;
    for (const double share : kMoreShares) {
      Solved solved = solve(share);
      if (solved.likelihood <= best.likelihood) continue;
      best = std::move(solved);
      share_ = share;
    }
    return best;
  }

  // A setting whose repeats differ more than others' has more noise; a trial far from the others of
  // its setting counts for less.
  void renew(const Solved& solved) {
    std::map<std::size_t, std::pair<double, double>> spread;  // squares, count
    for (Eigen::Index i = 0; i < rows(); ++i) {
      if (torn_.contains(at(i).setting)) continue;
      const double noise = own_noise_[at(i).setting];
      double& doubt = doubt_[static_cast<std::size_t>(i)];
      const double square = solved.residuals[i] * solved.residuals[i];
      auto& [squares, count] = spread[at(i).setting];
      squares += doubt * square * noise * noise / own_variance(i);
      count += 1;
      doubt = doubt_of(square / own_variance(i));
    }
    for (const auto& [setting, of] : spread) {
      const double dof = of.second - 1;
      own_noise_[setting] =
          std::sqrt((kPriorDof * noise_ * noise_ + (dof > 0 ? of.first : 0)) / (kPriorDof + dof));
    }
  }

  const std::vector<RateObservation>& seen_;
  double noise_;
  double share_ = 0;
  std::vector<double> doubt_;
  std::vector<double> own_noise_;  // by setting
  std::set<std::size_t> torn_;     // settings, between two trials
  std::vector<std::size_t> columns_;
  MatrixXd design_, model_;
  VectorXd values_;
};

// The trials of the settings that ran in rounds; none if these are too many, too.
std::vector<RateObservation> in_rounds(const std::vector<RateObservation>& observations,
                                       std::size_t settings) {
  std::vector<bool> raced(settings, false);
  for (const RateObservation& one : observations) {
    if (one.round > 0) raced[one.setting] = true;
  }
  std::vector<RateObservation> found;
  for (const RateObservation& one : observations) {
    if (raced[one.setting]) found.push_back(one);
  }
  if (found.size() > kMaxJoint) found.clear();
  return found;
}

Interval around(double centre, double half) {
  return {std::exp(centre), std::exp(centre - half), std::exp(centre + half)};
}

}  // namespace

RateFit::RateFit(const std::vector<RateObservation>& observations, std::size_t settings,
                 double noise)
    : settings_(settings),
      log_rates_(settings, -std::numeric_limits<double>::infinity()),
      noises_(settings, noise),
      noise_covariance_(settings * settings, 0),
      model_covariance_(settings * settings, 0),
      // One is spent on the setting's own rate; each trial adds one below.
      dof_(settings, kPriorDof - 1) {
  std::vector<RateObservation> joint = observations;
  if (observations.size() > kMaxJoint) {
    joint = in_rounds(observations, settings);
    fit_alone(observations, joint, noise);
  }
  fit_jointly(joint, noise);
  for (const RateObservation& one : observations) dof_[one.setting] += 1;
  rounds_.resize(settings);
  for (const RateObservation& one : observations) {
    if (one.round > 0) rounds_[one.setting][one.round] = one.log_rate;
  }
}

void RateFit::fit_alone(const std::vector<RateObservation>& observations,
                        const std::vector<RateObservation>& joint, double noise) {
  std::vector<bool> left(settings_, true);
  for (const RateObservation& one : joint) left[one.setting] = false;
  std::map<std::size_t, std::vector<RateObservation>> by_setting;
  for (const RateObservation& one : observations) {
    if (left[one.setting]) by_setting[one.setting].push_back(one);
  }
  for (const auto& [setting, seen] : by_setting) {
    std::vector<double> logs, errors, model_errors;
    for (const RateObservation& one : seen) {
      logs.push_back(one.log_rate);
      errors.push_back(one.error);
      model_errors.push_back(std::hypot(one.model_error, one.sharing_error));
    }
    const auto count = static_cast<double>(seen.size());
    const double own = stddev(logs);
    const double variance =
        (kPriorDof * noise * noise + (count - 1) * own * own) / (kPriorDof + count - 1);
    // A median and not a mean: without the joint fit nothing else tells a stray.
    const double error =
        median_error(std::hypot(std::sqrt(variance), median(errors)), static_cast<int>(count));
    const double model_error = median(model_errors);
    log_rates_[setting] = median(logs);
    noises_[setting] = std::sqrt(variance);
    noise_covariance_[setting * settings_ + setting] = error * error;
    model_covariance_[setting * settings_ + setting] = model_error * model_error;
  }
}

void RateFit::fit_jointly(const std::vector<RateObservation>& observations, double noise) {
  if (observations.empty()) return;
  const std::size_t settings = settings_;
  Problem problem(observations, settings, noise);
  const Solved solved = problem.run();
  const Covariances covariances = problem.covariances();
  const auto& columns = problem.columns();
  for (std::size_t a = 0; a < columns.size(); ++a) {
    const auto row = static_cast<Eigen::Index>(a);
    log_rates_[columns[a]] = solved.rates[row];
    noises_[columns[a]] = problem.noise(columns[a]);
    for (std::size_t b = 0; b < columns.size(); ++b) {
      const auto column = static_cast<Eigen::Index>(b);
      const double model = covariances.model(row, column);
      model_covariance_[columns[a] * settings + columns[b]] = model;
      noise_covariance_[columns[a] * settings + columns[b]] = covariances.all(row, column) - model;
    }
  }
}

Interval RateFit::rate(std::size_t setting) const {
  if (!std::isfinite(log_rates_[setting])) return {};
  return around(log_rates_[setting], half_width(setting, setting, dof_[setting]));
}

double RateFit::variance(const std::vector<double>& covariance, std::size_t a,
                         std::size_t b) const {
  const double own = covariance[a * settings_ + a];
  if (a == b) return std::max(0.0, own);
  return std::max(0.0, own + covariance[b * settings_ + b] - 2 * covariance[a * settings_ + b]);
}

// Only the noise is measured by few repeats; what the models do not know is a belief of known
// width.
double RateFit::half_width(std::size_t a, std::size_t b, double dof) const {
  return std::hypot(t_quantile_95(dof) * std::sqrt(variance(noise_covariance_, a, b)),
                    kNormal95 * std::sqrt(variance(model_covariance_, a, b)));
}

Interval RateFit::ratio(std::size_t a, std::size_t b) const {
  if (!std::isfinite(log_rates_[a]) || !std::isfinite(log_rates_[b])) return {};
  if (a == b) return {1, 1, 1};
  const double half = half_width(a, b, std::min(dof_[a], dof_[b]));
  return around(log_rates_[a] - log_rates_[b], std::max(half, half_by_rounds(a, b)));
}

double RateFit::half_by_rounds(std::size_t a, std::size_t b) const {
  std::vector<double> differences;
  for (const auto& [round, log_rate] : rounds_[a]) {
    const auto other = rounds_[b].find(round);
    if (other != rounds_[b].end()) differences.push_back(log_rate - other->second);
  }
  const auto count = static_cast<double>(differences.size());
  const double trials = std::min(dof_[a], dof_[b]) - (kPriorDof - 1);
  // Two differences have an interval that excludes nothing, and a few of many trials say less than
  // all of them.
  if (count < 3 || 2 * count < trials) return 0;
  return t_quantile_95(count + 1) * stddev(differences) / std::sqrt(count);
}

double RateFit::chance_above(std::size_t a, std::size_t b, double ratio) const {
  if (!std::isfinite(log_rates_[a]) || !std::isfinite(log_rates_[b])) return 0;
  const double ahead = log_rates_[a] - log_rates_[b] - std::log(ratio);
  const double error =
      std::sqrt(variance(noise_covariance_, a, b) + variance(model_covariance_, a, b));
  if (!(error > 0)) return ahead > 0 ? 1 : 0;
  return normal_cdf(ahead / error);
}

}  // namespace ocrtune
