// A regression over relative errors, in units of each coefficient's prior deviation, gives the
// expectation of every point of the space at once. The bound by ratios of parts needs no fit and
// holds from the first trial on.
#include "tuner/models/memory_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

#include "base/normal.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxObservations = 200;
// A normal deviate passes 2.6 in about 1 of 200.
constexpr double kSlack = 2.6;            // standard deviations of the upper bound
constexpr double kMinSpread = 0.01;       // of a peak between repeats, relative
constexpr double kExpectedSpread = 0.02;  // before the residuals say more

// Where threads run moves the peak little.
bool light(const std::string& name) { return name == "binding" || name == "queue"; }

// At most this times the memory when one value takes the place of another, all else alike. Halved
// numbers never need more; of what is not known, a factor of two is taken.
double swap_factor(const std::string& name, const std::string& from, const std::string& to) {
  if (light(name)) return 1.05;
  if (name == "precision") return from == "fp32" && (to == "bf16" || to == "tf32") ? 1.02 : 2.0;
  return 2.0;
}

// Prior deviation of what a category's value changes per sample, relative to the sample itself.
double category_width(const std::string& name) {
  return light(name) ? 0.03 : name == "precision" ? 0.3 : 0.5;
}

// As swap_factor(), of the numbers of a user's dimension: nobody knows whether they hold memory
// or are a switch: nothing more when it falls, else the ratio within bounds.
double number_factor(double from, double to) {
  if (to < from) return 1;
  return from > 0 ? std::clamp(to / from, 1.0, 4.0) : 2.0;
}

double worker_count(const Knobs& knobs) { return static_cast<double>(knobs.workers); }

// The parts of the peak that grow with the setting, each with a coefficient of at least 0.
std::vector<double> parts(const Space& space, int point, int memories) {
  const Knobs& knobs = space.knobs(point);
  const double n = processes_together(knobs.nproc, memories);
  const double b = knobs.batch;
  std::vector<double> values = {1, n, n * b, n * worker_count(knobs), n * knobs.threads};
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    const Axis& axis = space.axes()[a];
    const int value = space.place(point)[a];
    if (axis.scale == KnobScale::category) {
      // The first word is what the others are measured against.
      for (std::size_t v = 1; v < axis.values.size(); ++v) {
        values.push_back(static_cast<int>(v) == value ? n * b : 0);
      }
    } else if (find_knob(axis.name) == nullptr) {
      values.push_back(n * b * value / (static_cast<double>(axis.values.size()) - 1));
    }
  }
  return values;
}

double ratio(double above, double below) { return std::max(1.0, above / std::max(below, 1e-9)); }

constexpr double kBeyondStop = 1.1;  // what a stopped trial would have held, over what it did
constexpr double kStopWeight = 0.2;  // of a trial that ended

struct Seen {
  int point;
  double bytes, weight;
};

struct Coefficients {
  Eigen::VectorXd centre, width;
};

// What the parts weigh before any trial, by the `scale` of one process with `batch`; the last part
// is the plan, if there is one.
Coefficients prior_coefficients(const Space& space, double scale, double batch, Eigen::Index count,
                                bool planned) {
  const double trust = planned ? 0.3 : 1.0;  // with a plan, the other parts correct it
  Eigen::VectorXd centre = Eigen::VectorXd::Zero(count);
  Eigen::VectorXd width = Eigen::VectorXd::Constant(count, 0.5 * trust * scale / batch);
  Eigen::Index at = 5;
  for (const Axis& axis : space.axes()) {
    if (axis.scale == KnobScale::count) {
      if (find_knob(axis.name) == nullptr) width[at++] = trust * scale / batch;
      continue;
    }
    for (std::size_t v = 1; v < axis.values.size(); ++v, ++at) {
      width[at] = category_width(axis.name) * trust * scale / batch;
      if (axis.values[v] == "bf16") centre[at] = -0.5 * width[at];
    }
  }
  // In the order of parts(): constant, process, sample, loader, thread. All shares are guesses.
  width[0] = trust * scale;
  width[1] = trust * scale;
  width[2] = trust * scale / batch;
  width[3] = 0.5 * scale;
  width[4] = 0.1 * scale;
  centre[count - 1] = planned ? 1 : 0;
  width[count - 1] = planned ? 0.25 : 1e-12;
  if (!planned) {
    centre[1] = 0.5 * scale;
    centre[2] = 0.5 * scale / batch;
    centre[3] = 0.2 * scale;
  }
  return {centre, width};
}

}  // namespace

int processes_together(int processes, int memories) {
  return (processes + std::max(1, memories) - 1) / std::max(1, memories);
}

struct MemoryModel::Fit {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double spread = kExpectedSpread;
  bool has_prior = false;
  Eigen::MatrixXd parts;               // [parts, points]; the last part is the plan
  std::vector<double> bytes, highest;  // of every point, by the regression alone

  void regress(const std::vector<Seen>& seen, const Coefficients& prior);
};

MemoryModel::MemoryModel(const Space& space, MemoryPrior prior, int memories)
    : space_(&space), prior_(std::move(prior)), memories_(memories), fit_(std::make_unique<Fit>()) {
  planned_.assign(static_cast<std::size_t>(space.size()), prior_ == nullptr ? 0.0 : -1.0);
  if (space.size() == 0) return;
  fit_->has_prior = planned(0) > 0;
  const auto first = parts(space, 0, memories);
  fit_->parts.resize(static_cast<Eigen::Index>(first.size()) + 1, space.size());
  for (int point = 0; point < space.size(); ++point) {
    const std::vector<double> values = parts(space, point, memories);
    const auto count = static_cast<Eigen::Index>(values.size());
    fit_->parts.col(point).head(count) = Eigen::Map<const Eigen::VectorXd>(values.data(), count);
    fit_->parts(count, point) = planned(point);
  }
}

double MemoryModel::planned(int point) const {
  double& bytes = planned_[static_cast<std::size_t>(point)];
  if (bytes < 0) bytes = std::max(0.0, prior_(space_->knobs(point)));
  return bytes;
}

MemoryModel::~MemoryModel() = default;

void MemoryModel::observe(int point, double peak_bytes) {
  if (!(peak_bytes > 0) || !std::isfinite(peak_bytes)) return;
  stale_ = true;
  const auto known = std::find(points_.begin(), points_.end(), point);
  if (known != points_.end()) {
    double& peak = peaks_[static_cast<std::size_t>(known - points_.begin())];
    // Cached bounds only fall: those that rest on the smaller peak are to rise.
    if (peak_bytes > peak) bounds_.clear();
    peak = std::max(peak, peak_bytes);
    return;
  }
  // The oldest goes: the cost of a fit stays bounded.
  if (points_.size() >= kMaxObservations) {
    points_.erase(points_.begin());
    peaks_.erase(peaks_.begin());
    bounds_.clear();
  }
  points_.push_back(point);
  peaks_.push_back(peak_bytes);
}

void MemoryModel::observe_at_least(int point, double bytes) {
  if (!(bytes > 0) || !std::isfinite(bytes) || points_.empty()) return;
  std::erase_if(stopped_, [&](const auto& one) { return one.first == point; });
  stopped_.emplace_back(point, bytes);
  stale_ = true;
}

double MemoryModel::chance_within(int point, double bytes) const {
  if (stale_) refit();
  const double expected = fit_->bytes[static_cast<std::size_t>(point)];
  const double stddev = (fit_->highest[static_cast<std::size_t>(point)] - expected) / kSlack;
  if (stddev <= 0) return expected <= bytes ? 1 : 0;
  return normal_cdf((bytes - expected) / stddev);
}

void MemoryModel::refit() const {
  stale_ = false;
  fit_->bytes.resize(static_cast<std::size_t>(space_->size()));
  fit_->highest.resize(static_cast<std::size_t>(space_->size()));
  // What one process held at the lightest setting seen sets the scale of every coefficient.
  double scale = std::numeric_limits<double>::max();
  double batch = 1;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Knobs& knobs = space_->knobs(points_[i]);
    const double each = peaks_[i] / processes_together(knobs.nproc, memories_);
    if (each >= scale) continue;
    scale = each;
    batch = knobs.batch;
  }
  const Coefficients prior =
      prior_coefficients(*space_, scale, batch, fit_->parts.rows(), fit_->has_prior);
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < points_.size(); ++i) seen.push_back({points_[i], peaks_[i], 1});
  fit_->regress(seen, prior);
  // Stopped trials count where the fit would have expected less than they held: as a little more
  // than that, loosely.
  const std::size_t whole = seen.size();
  for (const auto& [point, bytes] : stopped_) {
    if (fit_->bytes[static_cast<std::size_t>(point)] < kBeyondStop * bytes) {
      seen.push_back({point, kBeyondStop * bytes, kStopWeight});
    }
  }
  if (seen.size() > whole) fit_->regress(seen, prior);
}

void MemoryModel::Fit::regress(const std::vector<Seen>& seen, const Coefficients& prior) {
  const Eigen::VectorXd &centre = prior.centre, &width = prior.width;
  const Eigen::Index count = parts.rows();
  const auto rows = static_cast<Eigen::Index>(seen.size());
  Eigen::MatrixXd design(rows, count);
  Eigen::VectorXd target(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const Seen& one = seen[static_cast<std::size_t>(i)];
    // Divided by its own peak, so that large settings do not outweigh small ones.
    design.row(i) = one.weight * parts.col(one.point).cwiseProduct(width) / one.bytes;
    target[i] = one.weight;
  }
  target -= design * centre.cwiseQuotient(width);
  spread = kExpectedSpread;
  // Spread and coefficients depend on each other. The expected spread counts as four residuals.
  for (int pass = 0; pass < 3; ++pass) {
    Eigen::MatrixXd precision = design.transpose() * design / (spread * spread);
    precision += Eigen::MatrixXd::Identity(count, count);
    const Eigen::LDLT<Eigen::MatrixXd> solver(precision);
    const Eigen::VectorXd unit = solver.solve(design.transpose() * target / (spread * spread));
    const Eigen::MatrixXd unit_covariance = solver.solve(Eigen::MatrixXd::Identity(count, count));
    mean = centre + unit.cwiseProduct(width);
    covariance = width.asDiagonal() * unit_covariance * width.asDiagonal();
    // Degrees of freedom that the coefficients take: the trace of the hat matrix.
    const double used =
        (unit_covariance * (design.transpose() * design)).trace() / (spread * spread);
    const double dof = std::max(0.0, static_cast<double>(rows) - used);
    const Eigen::VectorXd residual = target - design * unit;
    const double squares = residual.squaredNorm() + 4 * kExpectedSpread * kExpectedSpread;
    if (pass < 2) spread = std::max(kMinSpread, std::sqrt(squares / (dof + 4)));
  }
  const Eigen::MatrixXd covered = covariance * parts;
  for (Eigen::Index point = 0; point < parts.cols(); ++point) {
    const auto index = static_cast<std::size_t>(point);
    const double expected = std::max(parts.col(point).dot(mean), 0.0);
    const double variance =
        parts.col(point).dot(covered.col(point)) + std::pow(spread * expected, 2);
    bytes[index] = expected;
    highest[index] = expected + kSlack * std::sqrt(std::max(variance, 0.0));
  }
}

// All parts are positive, so no setting needs more than an observed one times its largest ratio of
// parts. A loader is taken to need at most what a whole process needs at the smallest batch.
double MemoryModel::bound_by(std::size_t observation, int point) const {
  const Knobs& wanted = space_->knobs(point);
  const Knobs& seen = space_->knobs(points_[observation]);
  const double peak = peaks_[observation];
  const double n = processes_together(wanted.nproc, memories_);
  const double seen_n = processes_together(seen.nproc, memories_);
  double factor = std::max(ratio(n, seen_n), ratio(n * wanted.batch, seen_n * seen.batch));
  // Twice the threads: 5 % more (guess).
  factor *= 1 + 0.05 * (ratio(wanted.threads, seen.threads) - 1);
  const std::vector<int>& left = space_->place(point);
  const std::vector<int>& right = space_->place(points_[observation]);
  for (std::size_t a = 0; a < left.size(); ++a) {
    if (left[a] == right[a]) continue;
    const Axis& axis = space_->axes()[a];
    if (axis.scale == KnobScale::category) {
      factor *= swap_factor(axis.name, axis.values[static_cast<std::size_t>(right[a])],
                            axis.values[static_cast<std::size_t>(left[a])]);
    } else if (find_knob(axis.name) == nullptr) {
      const int at = static_cast<int>(a);
      factor *= number_factor(space_->number(at, right[a]), space_->number(at, left[a]));
    }
  }
  double loaders = n * worker_count(wanted) * peak / seen_n;
  if (seen.workers > 0) {
    const double both = ratio(n * worker_count(wanted), seen_n * worker_count(seen));
    loaders = 0;
    factor = std::max(factor, both);
  }
  return peak * factor + loaders;
}

double MemoryModel::ratio_bound(int point) const {
  if (bounds_.empty()) {
    bounds_.assign(static_cast<std::size_t>(space_->size()),
                   {std::numeric_limits<double>::max(), 0});
  }
  Bound& known = bounds_[static_cast<std::size_t>(point)];
  for (; known.observations < points_.size(); ++known.observations) {
    known.bytes = std::min(known.bytes, bound_by(known.observations, point));
  }
  return known.bytes;
}

MemoryForecast MemoryModel::forecast(int point) const {
  MemoryForecast forecast;
  if (points_.empty()) {
    if (!fit_->has_prior) return forecast;
    const double bytes = planned(point);
    // A plan alone may be off by half (guess).
    return {bytes > 0, bytes, 0.5 * bytes, 1.5 * bytes};
  }
  if (stale_) refit();
  const double bytes = fit_->bytes[static_cast<std::size_t>(point)];
  const double highest = fit_->highest[static_cast<std::size_t>(point)];
  forecast.known = true;
  forecast.high_bytes = std::min(highest, ratio_bound(point));
  forecast.bytes = std::min(bytes, forecast.high_bytes);
  forecast.low_bytes = std::max(0.0, forecast.bytes - (highest - bytes));
  return forecast;
}

bool MemoryModel::fits(int point, double bytes) const {
  if (points_.empty()) {
    const MemoryForecast planned = forecast(point);
    return planned.known && planned.high_bytes <= bytes;
  }
  if (stale_) refit();
  return fit_->highest[static_cast<std::size_t>(point)] <= bytes || ratio_bound(point) <= bytes;
}

}  // namespace ocrtune
