// The route of an update: trials become observations (slowed repeats left out), the structured
// model is fitted, and the process learns what it leaves over. A forecast adds the two again, on
// features that the constructor makes ready.
#include "tuner/models/forecaster.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/stats.h"
#include "tuner/models/repeats.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxForecastObservations = 160;  // more cost time and teach little
constexpr double kDiscarded = 9;                       // times the variance of a clean trial
constexpr double kPriorDof = 3;      // what the expected noise counts as, in repeats
constexpr double kPlausible = 3;     // nats behind the fit: an explanation 1/20 as likely
constexpr int kMinToDoubt = 6;       // settings that say how well the model fits
constexpr double kSuspicious = 3.5;  // deviations below what the others say

// The fastest three quarters of what may stay, and an even sample of the rest.
void keep_most_telling(std::vector<Observation>& observations) {
  if (observations.size() <= kMaxForecastObservations) return;
  std::stable_sort(
      observations.begin(), observations.end(),
      [](const Observation& a, const Observation& b) { return a.log_rate > b.log_rate; });
  constexpr std::size_t kFast = kMaxForecastObservations * 3 / 4;
  constexpr std::size_t kOthers = kMaxForecastObservations - kFast;
  const std::size_t rest = observations.size() - kFast;
  // In place: each is read at or behind the place where it is written.
  for (std::size_t i = 0; i < kOthers; ++i) {
    observations[kFast + i] = observations[kFast + i * rest / kOthers];
  }
  observations.resize(kMaxForecastObservations);
}

double doublings(double value) { return std::log2(std::max(value, 1e-9)); }

// By what factor settings that ran once are further from what the others say of them than is
// stated, as a root mean square; at least 1. Those that other load slowed do not count.
double lack_of_fit(const std::vector<GpObservation>& rows, const std::vector<double>& surprises) {
  double squares = 0;
  int count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto runs = std::count_if(rows.begin(), rows.end(), [&](const GpObservation& other) {
      return other.point == rows[i].point;
    });
    if (runs > 1 || surprises[i] < -kSuspicious) continue;
    squares += surprises[i] * surprises[i];
    ++count;
  }
  return count < kMinToDoubt ? 1 : std::max(1.0, std::sqrt(squares / count));
}

// Counts, and the two products that features() adds to them.
int curves_of(const Space& space) {
  int curves = 2;
  for (const Axis& axis : space.axes()) curves += axis.scale == KnobScale::category ? 0 : 1;
  return curves;
}

}  // namespace

Forecaster::Forecaster(const Space& space, double cores, double expected_noise, bool by_step)
    : space_(&space),
      expected_noise_(expected_noise),
      by_step_(by_step),
      speed_(space, cores),
      process_(curves_of(space)),
      noise_(expected_noise),
      counts_(static_cast<std::size_t>(curves_of(space)) - 2) {
  for (int point = 0; point < space.size(); ++point) {
    fixed_features_.push_back(fixed_features(point));
  }
}

std::vector<double> Forecaster::fixed_features(int point) const {
  std::vector<double> features;
  std::vector<double> words;
  for (std::size_t a = 0; a < space_->axes().size(); ++a) {
    const Axis& axis = space_->axes()[a];
    const int value = space_->place(point)[a];
    const int index = static_cast<int>(a);
    if (axis.scale == KnobScale::category) {
      words.push_back(value);
    } else if (find_knob(axis.name) != nullptr) {
      const double number = space_->number(index, value);
      // A list that begins at 0 (workers) has no logarithm there: all its values move by one.
      features.push_back(doublings(space_->number(index, 0) < 1 ? number + 1 : number));
    } else {
      const double last = static_cast<double>(axis.values.size()) - 1;
      // Of a user's dimension only the order of its values counts; the list spans three doublings
      // (guess).
      features.push_back(3.0 * value / last);
    }
  }
  features.insert(features.end(), words.begin(), words.end());
  return features;
}

// The counts, two products of counts, the words.
std::vector<double> Forecaster::features(int point) const {
  const Knobs& knobs = space_->knobs(point);
  const double team = doublings(static_cast<double>(knobs.nproc) * knobs.threads / speed_.cores());
  const double samples = doublings(static_cast<double>(knobs.nproc) * knobs.batch);
  std::vector<double> features = fixed_features_[static_cast<std::size_t>(point)];
  const auto words = features.begin() + static_cast<std::ptrdiff_t>(counts_);
  // What the knobs do together: threads over cores, and samples in flight. Weights and ends are
  // guesses.
  features.insert(words, {2 * std::clamp(team, -0.5, 2.0), 0.5 * samples});
  return features;
}

GpRow Forecaster::row(int point) const {
  GpRow row{features(point), {}};
  row.tangent.resize(static_cast<std::size_t>(speed_.parameter_count()));
  speed_.gradient(point, row.tangent.data());
  return row;
}

// The structured model at its prior's centre, as its tangent at the fit sees it: the process then
// moves the parameters and the residual together.
double Forecaster::base(int point, const GpRow& row) const {
  double value = speed_.log_rate(point) + offset(point);
  const std::vector<double>& fitted = speed_.parameters();
  for (std::size_t i = 0; i < fitted.size(); ++i) value -= row.tangent[i] * fitted[i];
  return value;
}

// The structured model speaks of rates.
double Forecaster::offset(int point) const {
  if (!by_step_) return 0;
  const Knobs& knobs = space_->knobs(point);
  return -std::log(static_cast<double>(knobs.nproc) * knobs.batch);
}

void Forecaster::update(const Ledger& ledger) {
  if (ledger.trials() == trials_seen_) return;
  trials_seen_ = ledger.trials();
  double dof = kPriorDof;
  for (int point : ledger.tried()) {
    const auto repeats = static_cast<double>(ledger.record(point).best_rates().size());
    dof += std::max(0.0, repeats - 1);
  }
  // A deviation of `dof` degrees is known to about 1 / sqrt(2 dof) of itself.
  noise_ = ledger.noise(expected_noise_) * (1 + 1 / std::sqrt(2 * dof));
  std::vector<Observation> observations;
  std::vector<std::pair<Observation, double>> single;  // and when
  for (int point : ledger.tried()) {
    const PointRecord& record = ledger.record(point);
    if (!record.works()) continue;
    const std::vector<double>& all = record.best_rates();
    const std::vector<bool> doubtful = slowed(all, noise_);
    const double variance = (record.rates.empty() ? kDiscarded : 1.0) * noise_ * noise_;
    std::vector<double> logs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (doubtful[i]) continue;
      logs.push_back(std::log(all[i]));
      single.push_back(
          {{point, logs.back(), variance}, static_cast<double>(record.best_times()[i])});
    }
    // From three on the median withstands one stray.
    const double centre = logs.size() > 2 ? median(logs) : mean(logs);
    observations.push_back({point, centre, variance / static_cast<double>(logs.size())});
  }
  if (observations.empty()) return;
  settings_seen_ = static_cast<int>(observations.size());
  keep_most_telling(observations);
  std::vector<Observation> rates = observations;
  for (Observation& seen : rates) seen.log_rate -= offset(seen.point);
  speed_.fit(rates);
  // Trial by trial while they are few: then slow ones stand out, and what time did to them.
  if (single.size() > kMaxForecastObservations) {
    single.clear();
    for (const Observation& seen : observations) single.push_back({seen, -1});
  }
  std::vector<GpObservation> rows;
  for (const auto& [seen, when] : single) {
    GpObservation at{row(seen.point), seen.point, 0, seen.variance};
    at.value = seen.log_rate - base(seen.point, at.row);
    at.row.when = when;
    rows.push_back(std::move(at));
  }
  seen_.clear();
  for (const auto& [seen, when] : single) seen_.push_back(seen);
  explanations_.clear();
  // Each step factorises a matrix of so many rows: fewer steps as they grow. Below six the scales
  // stay.
  const int steps = rows.size() < 6 ? 0 : rows.size() < 40 ? 16 : rows.size() < 80 ? 8 : 3;
  process_.fit(rows, steps);
  misfit_ = lack_of_fit(rows, process_.surprises());
  suspicious_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (process_.surprises()[i] < -kSuspicious) suspicious_.push_back(rows[i].point);
  }
}

// The scales of the model are found from the same settings: every second one counts.
double Forecaster::wide() const {
  return misfit_ * t_quantile_95(std::max(2.0, 0.5 * settings_seen_));
}

SpeedForecast Forecaster::forecast(int point) const {
  const GpRow at = row(point);
  GpForecast rest = process_.forecast(at, point);
  SpeedForecast speed{point, base(point, at) + rest.mean, rest.stddev, std::move(rest.covariances)};
  for (std::size_t i = 0; i < explanations_.size(); ++i) {
    const double log_rate =
        speed_.log_rate(point, explanations_[i]) + offset(point) + rest.others[i];
    speed.other_log_rate = std::max(speed.other_log_rate, log_rate);
  }
  return speed;
}

double Forecaster::highest(const SpeedForecast& speed) const {
  return std::max(speed.log_rate + wide() * speed.stddev, speed.other_log_rate);
}

std::vector<double> Forecaster::left_over(const std::vector<double>& parameters) const {
  std::vector<double> values;
  for (const Observation& seen : seen_) {
    values.push_back(seen.log_rate - speed_.log_rate(seen.point, parameters) - offset(seen.point));
  }
  return values;
}

void Forecaster::explain() {
  if (trials_explained_ == trials_seen_ || seen_.empty()) return;
  trials_explained_ = trials_seen_;
  std::vector<std::vector<double>> found = speed_.explanations();
  found.push_back(speed_.parameters());  // the last one: what the others are compared with
  std::vector<std::vector<double>> values;
  for (const auto& parameters : found) values.push_back(left_over(parameters));
  std::vector<double> unlikely = process_.retell(values);
  for (std::size_t i = 0; i < found.size(); ++i) {
    // The parameters' own prior, a standard normal.
    for (const double z : found[i]) unlikely[i] += 0.5 * z * z;
  }
  const double most = unlikely.back() + kPlausible;
  found.pop_back();
  values.clear();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (unlikely[i] > most) continue;
    values.push_back(left_over(found[i]));
    explanations_.push_back(std::move(found[i]));
  }
  process_.retell(values);
}

void Forecaster::watch(const std::vector<int>& points) {
  std::vector<GpRow> rows;
  for (int point : points) rows.push_back(row(point));
  process_.watch(rows, points);
}

}  // namespace ocrtune
