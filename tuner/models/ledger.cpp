// What a clean trial says is written down once. The rate of a disturbed one depends on the CPU time
// of a sample, which later trials show better. So renew() makes it again when it is asked for.
#include "tuner/models/ledger.h"

#include <algorithm>
#include <utility>

#include "base/stats.h"
#include "trial/observe/undisturbed_rate.h"
#include "tuner/models/repeats.h"

namespace ocrtune {

Ledger::Ledger(const Space& space, Objective objective)
    : space_(&space), objective_(objective), records_(static_cast<std::size_t>(space.size())) {}

int Ledger::add(const Trial& trial) {
  const int point = space_->find(trial.knobs);
  if (point < 0) return -1;
  PointRecord& record = records_[static_cast<std::size_t>(point)];
  // A skipped trial never ran.
  if (trial.outcome == Outcome::skipped) return point;
  if (!record.tried()) tried_.push_back(point);
  ++record.trials;
  ++trials_;
  record.peak_bytes = std::max(record.peak_bytes, trial.peak_bytes);
  record.allowed_cpus = std::max(record.allowed_cpus, trial.stages.allowed_cpus);
  if (trial.seconds > 0) (trial.ok() ? seconds_ : failed_seconds_).push_back(trial.seconds);
  if (trial.ok() && trial.seconds > 0) start_shares_.push_back(trial.start_seconds / trial.seconds);
  const double objective_value = objective_value_of(trial, objective_);
  if (!(objective_value > 0)) {
    ++record.failures;
    record.reason = trial.reason;
    return point;
  }
  record.samples_per_second.push_back(trial.samples_per_second);
  record.step_seconds.push_back(step_seconds_of(trial, objective_));
  // What it shows of CPU time may change the disturbed rates of other points as well.
  const bool more_known = cost_.add(trial);
  if (trial.noisy()) {
    ++record.discarded;
    disturbed_.push_back(
        {point, trial, cost_.least(trial.knobs), rate_by(cost_, trial, objective_)});
    record.discarded_rates.push_back(disturbed_.back().rate);
    record.discarded_times.push_back(trials_);
  }
  stale_ = stale_ || more_known;
  if (trial.noisy()) return point;
  record.rates.push_back(objective_value);
  record.times.push_back(trials_);
  return point;
}

const PointRecord& Ledger::record(int point) const {
  if (std::exchange(stale_, false)) renew();
  return records_[static_cast<std::size_t>(point)];
}

// In the order of the trials: discarded_times still match.
void Ledger::renew() const {
  for (const Disturbed& one : disturbed_) {
    records_[static_cast<std::size_t>(one.point)].discarded_rates.clear();
  }
  for (Disturbed& one : disturbed_) {
    const double known = cost_.least(one.trial.knobs);
    if (std::exchange(one.cpu_seconds, known) != known) {
      one.rate = rate_by(cost_, one.trial, objective_);
    }
    records_[static_cast<std::size_t>(one.point)].discarded_rates.push_back(one.rate);
  }
}

double Ledger::busy_cpus(int point) const {
  return median_rate(point) * cost_.least(space_->knobs(point));
}

int Ledger::bound_cpus(int nproc) const {
  int most = 0;
  bool bound = false;
  for (const int point : tried_) {
    const Knobs& knobs = space_->knobs(point);
    const int allowed = record(point).allowed_cpus;
    if (knobs.nproc != nproc || allowed <= 0) continue;
    most = std::max(most, allowed);
    bound = bound || allowed < knobs.nproc * knobs.threads;
  }
  return bound ? most : 0;
}

bool Ledger::eligible(int point) const {
  const PointRecord& record = this->record(point);
  if (!record.works() || record.failures > 0) return false;
  return broken_constraint(objective_, median(record.samples_per_second),
                           median(record.step_seconds), static_cast<double>(record.peak_bytes))
      .empty();
}

int Ledger::best() const {
  int best = -1;
  for (int point : tried_) {
    if (!eligible(point)) continue;
    if (best < 0 || median_rate(point) > median_rate(best)) best = point;
  }
  return best;
}

double Ledger::median_rate(int point) const { return median(record(point).best_rates()); }

double Ledger::expected_trial_seconds(double before_any) const {
  const std::vector<double>& all = seconds_.empty() ? failed_seconds_ : seconds_;
  if (all.empty()) return before_any;
  // A dozen is a guess.
  const std::size_t count = std::min<std::size_t>(all.size(), 12);
  std::vector<double> late(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
  return quantile(std::move(late), 0.75);
}

double Ledger::noise(double prior) const {
  std::vector<std::vector<double>> repeats;
  for (int point : tried_) repeats.push_back(record(point).best_rates());
  return pooled_noise(repeats, prior);
}

}  // namespace ocrtune
