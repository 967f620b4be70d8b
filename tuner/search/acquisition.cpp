// The gain of a trial is the knowledge gradient over the leaders' joint belief. It is weighed by
// the chance that the setting holds its constraints and fits memory, and by what the trial costs.
// Large spaces are asked about in part: by the structured model's rank, at random, and around the
// leaders.
#include "tuner/search/acquisition.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <set>
#include <utility>

#include <Eigen/Dense>

#include "base/normal.h"
#include "base/stats.h"

namespace ocrtune {
namespace {

struct Line {
  double mean = 0;
  double slope = 0;
};

double density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }

// E[max(0, Z - z)] for z >= 0.
double excess(double z) { return density(z) - z * normal_cdf(-z); }

// Lines in ascending order of slope; of equal slopes only the highest.
std::vector<Line> sorted_lines(const std::vector<double>& means,
                               const std::vector<double>& slopes) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < means.size(); ++i) lines.push_back({means[i], slopes[i]});
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.slope != b.slope ? a.slope < b.slope : a.mean > b.mean;
  });
  const auto same = [](const Line& a, const Line& b) { return a.slope == b.slope; };
  lines.erase(std::unique(lines.begin(), lines.end(), same), lines.end());
  return lines;
}

// Numbers of settings to ask about are bounds on the time of a proposal; guesses.
constexpr std::size_t kByModel = 250;    // best untried by the structured model
constexpr int kAtRandom = 300;           // and of the others
constexpr double kAllUpTo = 75;          // trials; past them fewer are asked about, for time
constexpr std::size_t kContenders = 10;  // tried settings whose belief a trial may change
constexpr std::size_t kRivals = 40;      // untried settings that may be the best
constexpr int kDraws = 400;
constexpr double kStepTail = 0.05;  // of a step at the percentile over what the rate says

double log_batches(const Knobs& knobs) {
  return std::log(static_cast<double>(knobs.nproc) * knobs.batch);
}

}  // namespace

// The rate that a setting must reach to hold every constraint on rate and step time.
double Acquisition::min_log_rate(int point) const {
  const Objective& objective = board_->options.objective;
  double least = -std::numeric_limits<double>::infinity();
  if (objective.min_samples_per_second > 0) least = std::log(objective.min_samples_per_second);
  if (objective.max_step_seconds > 0) {
    std::vector<double> tails = {kStepTail};
    for (int tried : board_->ledger.tried()) {
      const PointRecord& record = board_->ledger.record(tried);
      if (record.samples_per_second.empty()) continue;
      // How much longer a step at the percentile is than its rate says, learned from tried
      // settings.
      tails.push_back(std::log(median(record.step_seconds) * median(record.samples_per_second)) -
                      log_batches(board_->space->knobs(tried)));
    }
    const double step = log_batches(board_->space->knobs(point)) + median(tails);
    least = std::max(least, step - std::log(objective.max_step_seconds));
  }
  return least;
}

double Acquisition::chance_allowed(const SpeedForecast& speed) const {
  const double least = min_log_rate(speed.point);
  if (!std::isfinite(least)) return 1;
  const bool latency = board_->options.objective.goal == Goal::latency;
  const double log_rate =
      speed.log_rate + (latency ? log_batches(board_->space->knobs(speed.point)) : 0.0);
  return normal_cdf((log_rate - least) / speed.stddev);
}

std::vector<int> Acquisition::ranked() const {
  const bool memory = board_->options.objective.goal == Goal::memory;
  std::vector<std::pair<double, int>> ranked;
  const double floor = memory ? log_floor() : 0;
  for (int point : board_->ledger.tried()) {
    if (!board_->ledger.eligible(point)) continue;
    double rank = -forecaster_->forecast(point).log_rate;
    if (memory && -rank >= floor) {
      // Fast enough: before all others, and among these by memory.
      rank = -1e3 + std::log(static_cast<double>(board_->ledger.record(point).peak_bytes) + 1);
    }
    ranked.emplace_back(rank, point);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> points;
  for (const auto& [rank, point] : ranked) points.push_back(point);
  return points;
}

// The least rate that the goal memory accepts.
double Acquisition::log_floor() const {
  const double asked = board_->options.objective.min_samples_per_second;
  if (asked > 0) return std::log(asked);
  double best = -1e9;
  for (int point : board_->ledger.tried()) {
    if (board_->ledger.eligible(point)) {
      best = std::max(best, forecaster_->forecast(point).log_rate);
    }
  }
  return best + std::log(kNearFastest);
}

// Settings worth asking the models about: the structured model's favourites, some at random, two
// steps around the best, leaders again, and what was discarded or looks wrong.
std::vector<int> Acquisition::candidates(Random& random) const {
  const Space& space = *board_->space;
  std::vector<std::pair<double, int>> by_model;
  const auto allowed = [&](int point) {
    return board_->open(point) && board_->runnable(point) && !board_->crowded(point);
  };
  for (int point = 0; point < space.size(); ++point) {
    if (allowed(point)) by_model.emplace_back(-forecaster_->rough_log_rate(point), point);
  }
  std::set<int> chosen;
  // A forecast costs about the square of the trials: fewer are asked for as these grow.
  const double share = std::min(1.0, std::pow(kAllUpTo / std::max(1, board_->ledger.trials()), 2));
  const std::size_t top = std::min(by_model.size(), static_cast<std::size_t>(share * kByModel));
  std::nth_element(by_model.begin(), by_model.begin() + static_cast<std::ptrdiff_t>(top),
                   by_model.end());
  for (std::size_t i = 0; i < top; ++i) chosen.insert(by_model[i].second);
  // The structured model may be blind to what is best here.
  for (int i = 0; i < share * kAtRandom && top < by_model.size(); ++i) {
    const auto at = random.integer(0, static_cast<std::int64_t>(by_model.size()) - 1);
    chosen.insert(by_model[static_cast<std::size_t>(at)].second);
  }
  if (!ranking_.empty()) {
    // Two steps: one may lead through a setting that is no better.
    for (int near : space.neighbours(ranking_[0])) {
      if (allowed(near)) chosen.insert(near);
      for (int next : space.neighbours(near)) {
        if (allowed(next)) chosen.insert(next);
      }
    }
  }
  for (std::size_t i = 0; i < std::min(ranking_.size(), kContenders); ++i) {
    chosen.insert(ranking_[i]);
  }
  for (int point : board_->ledger.tried()) {
    if (board_->discarded_only(point)) chosen.insert(point);
  }
  for (int point : forecaster_->suspicious()) {
    const PointRecord& record = board_->ledger.record(point);
    if (record.failures == 0 && record.trials < 3) chosen.insert(point);
  }
  return {chosen.begin(), chosen.end()};
}

std::optional<Acquired> Acquisition::best(Random& random) const {
  const std::vector<int> asked = candidates(random);
  if (board_->options.objective.goal == Goal::memory && !ranking_.empty()) {
    if (const auto lighter = min_memory(asked)) return lighter;
  }
  std::vector<int> contenders = ranking_;
  contenders.resize(std::min(ranking_.size(), kContenders));
  forecaster_->watch(contenders);
  std::vector<double> means;
  for (int point : contenders) means.push_back(forecaster_->forecast(point).log_rate);
  // By what a trial costs: many processes take long to start.
  const double typical = board_->ledger.expected_trial_seconds(1);
  Acquired found;
  double best_rate = 0;
  for (int point : asked) {
    const double gain = value_of(point, contenders, means);
    const double cost = board_->trial_seconds(point) / std::max(typical, 1e-9);
    if (gain / cost <= best_rate) continue;
    best_rate = gain / cost;
    found = {point, gain};
  }
  if (found.point < 0) return std::nullopt;
  return found;
}

// By how much the choice is expected to be better after one more trial of `point`.
double Acquisition::value_of(int point, const std::vector<int>& contenders,
                             std::vector<double> means) const {
  const SpeedForecast speed = forecaster_->forecast(point);
  const double fits = board_->safety.chance_to_fit(point);
  if (contenders.empty()) return std::exp(speed.log_rate) * chance_allowed(speed) * fits;
  // Of what the trial will show: belief and noise.
  const double spread = std::hypot(speed.stddev, forecaster_->noise());
  std::vector<double> slopes;
  for (double covariance : speed.covariances) slopes.push_back(covariance / spread);
  if (std::find(contenders.begin(), contenders.end(), point) != contenders.end()) {
    return knowledge_gradient(means, slopes);
  }
  // Only what was run can be chosen: to be expected ahead of it is worth a trial too.
  const double ahead = std::max(0.0, speed.log_rate - means[0]);
  means.push_back(speed.log_rate);
  slopes.push_back(speed.stddev * speed.stddev / spread);
  return (ahead + knowledge_gradient(means, slopes)) * chance_allowed(speed) * fits;
}

// Of the lighter settings the one that saves most memory, by its chance to be fast enough.
std::optional<Acquired> Acquisition::min_memory(const std::vector<int>& asked) const {
  const double floor = log_floor();
  const double known = std::log(static_cast<double>(board_->ledger.record(ranking_[0]).peak_bytes));
  Acquired found;
  for (int point : asked) {
    const double bytes = board_->safety.forecast(point).bytes;
    if (!(bytes > 0) || !board_->open(point)) continue;
    const SpeedForecast speed = forecaster_->forecast(point);
    const double saved = known - std::log(bytes);
    const double chance = normal_cdf((speed.log_rate - floor) / speed.stddev);
    if (saved * chance > found.gain) found = {point, saved * chance};
  }
  constexpr double kWorthATrial = 0.01;
  if (found.gain < kWorthATrial) return std::nullopt;
  return found;
}

double Acquisition::chance_of_better(double share, Random& random) const {
  if (ranking_.empty()) return 1;
  const SpeedForecast incumbent = forecaster_->forecast(ranking_[0]);
  const double bar = incumbent.log_rate + std::log1p(share);
  std::vector<std::pair<double, SpeedForecast>> rivals;
  for (int point : candidates(random)) {
    if (!board_->open(point)) continue;
    SpeedForecast speed = forecaster_->forecast(point);
    const double score = (speed.log_rate - bar) / speed.stddev;
    rivals.emplace_back(score, std::move(speed));
  }
  const std::size_t count = std::min(rivals.size(), kRivals);
  std::partial_sort(rivals.begin(), rivals.begin() + static_cast<std::ptrdiff_t>(count),
                    rivals.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (count == 0) return 0;
  const auto size = static_cast<Eigen::Index>(count);
  std::vector<int> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back(rivals[i].second.point);
  forecaster_->watch(points);
  Eigen::MatrixXd covariance(size, size);
  Eigen::VectorXd mean(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    const SpeedForecast speed = forecaster_->forecast(points[static_cast<std::size_t>(i)]);
    mean[i] = speed.log_rate;
    covariance.col(i) = Eigen::Map<const Eigen::VectorXd>(speed.covariances.data(), size);
    // Keeps the matrix positive definite.
    covariance(i, i) += 1e-8;
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  int better = 0;
  Eigen::VectorXd z(size);
  for (int draw = 0; draw < kDraws; ++draw) {
    for (double& value : z) value = random.normal();
    const Eigen::VectorXd truth = mean + factor.matrixL() * z;
    better += truth.maxCoeff() > bar ? 1 : 0;
  }
  return static_cast<double>(better) / kDraws;
}

double knowledge_gradient(const std::vector<double>& means, const std::vector<double>& slopes) {
  if (means.empty()) return 0;
  // The upper envelope: the lines that are highest somewhere, and where each takes over.
  std::vector<Line> upper;
  std::vector<double> starts;
  for (const Line& line : sorted_lines(means, slopes)) {
    double start = -std::numeric_limits<double>::infinity();
    while (!upper.empty()) {
      const Line& last = upper.back();
      // Where the new line overtakes the last one; before the last one's own begin it hides that.
      start = (last.mean - line.mean) / (line.slope - last.slope);
      if (start > starts.back()) break;
      upper.pop_back();
      starts.pop_back();
      start = -std::numeric_limits<double>::infinity();
    }
    upper.push_back(line);
    starts.push_back(start);
  }
  double gain = 0;
  for (std::size_t i = 1; i < upper.size(); ++i) {
    gain += (upper[i].slope - upper[i - 1].slope) * excess(std::fabs(starts[i]));
  }
  return gain;
}

}  // namespace ocrtune
