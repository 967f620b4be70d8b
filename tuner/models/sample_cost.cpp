// Two books: CPU times of undisturbed trials, by setting, and the least time of any trial, by the
// work that it does. The first is a measurement, the second only a floor.
#include "tuner/models/sample_cost.h"

#include "base/stats.h"
#include "trial/observe/undisturbed_rate.h"

namespace ocrtune {
namespace {

// Its knobs, less those that only say how the same work is shared out.
Knobs work_of(Knobs knobs) {
  const Knobs any;
  knobs.nproc = any.nproc;
  knobs.threads = any.threads;
  knobs.batch = any.batch;
  knobs.workers = any.workers;
  knobs.binding = any.binding;
  return knobs;
}

}  // namespace

bool SampleCost::add(const Trial& trial) {
  if (!trial.ok()) return false;
  const RateEstimate estimate = undisturbed_rate(trial);
  if (!(estimate.cpu_seconds > 0)) return false;
  if (!estimate.modelled) quiet_[trial.knobs].push_back(estimate.cpu_seconds);
  const auto [found, added] = by_work_.emplace(work_of(trial.knobs), estimate.cpu_seconds);
  const bool less = estimate.cpu_seconds < found->second;
  if (less) found->second = estimate.cpu_seconds;
  return added || less || !estimate.modelled;
}

double SampleCost::least(const Knobs& knobs) const {
  const auto own = quiet_.find(knobs);
  if (own != quiet_.end()) return median(own->second);
  const auto same = by_work_.find(work_of(knobs));
  return same != by_work_.end() ? same->second : 0;
}

double rate_by(const SampleCost& cost, const Trial& trial, const Objective& objective) {
  const double value = objective_value_of(trial, objective);
  if (!learns_rates(objective)) return value;
  const RateEstimate estimate = undisturbed_rate(trial);
  const double told = estimate.samples_per_second;
  if (!estimate.modelled || !(told > 0)) return value;
  // A ratio of two estimates of the same windows: the trial's own rate keeps its level.
  const double least = cost.least(trial.knobs);
  return value * undisturbed_rate(trial, least).model_samples_per_second / told;
}

}  // namespace ocrtune
