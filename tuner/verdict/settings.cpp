#include "tuner/verdict/settings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/stats.h"
#include "tuner/models/repeats.h"

namespace ocrtune {
namespace {

constexpr double kWideInterval = 1.96;   // standard errors of a 95 % interval
constexpr double kPriorDof = 4;  // what the pooled noise counts as

struct Gathered {
  std::vector<double> clean, race, discarded;  // merits
  std::vector<double> clean_rates, discarded_rates, step_seconds, samples_per_joule;
  SettingSummary summary;
  int failures = 0;
};

void gather(Gathered& into, const Trial& trial, const Objective& objective) {
  SettingSummary& summary = into.summary;
  summary.knobs = trial.knobs;
  ++summary.trials;
  summary.peak_bytes = std::max(summary.peak_bytes, trial.peak_bytes);
  for (const Sample& sample : trial.samples) {
    ++(sample.clean() ? summary.clean_samples : summary.discarded_samples);
  }
  if (!trial.ok()) {
    ++into.failures;
    summary.outcome = trial.outcome;
    summary.reason = trial.reason;
    return;
  }
  const double objective_value = objective_value_of(trial, objective);
  if (!(objective_value > 0)) return;
  into.step_seconds.push_back(step_seconds_of(trial, objective));
  if (trial.joules_per_sample > 0) into.samples_per_joule.push_back(1 / trial.joules_per_sample);
  if (trial.noisy()) {
    into.discarded.push_back(objective_value);
    into.discarded_rates.push_back(trial.samples_per_second);
    return;
  }
  into.clean.push_back(objective_value);
  into.clean_rates.push_back(trial.samples_per_second);
  if (trial.phase == "race") into.race.push_back(objective_value);
}

// Standard error of the middle of some repeats: their own spread, pooled with what repeats of other
// settings show.
double mean_error(const std::vector<double>& rates, double noise) {
  std::vector<double> logs;
  for (double rate : rates) logs.push_back(std::log(rate));
  const double seen = stddev(logs);
  const double dof = static_cast<double>(rates.size()) - 1;
  const double variance = (kPriorDof * noise * noise + dof * seen * seen) / (kPriorDof + dof);
  return std::sqrt(variance / static_cast<double>(rates.size()));
}

}  // namespace

double repeat_noise(const std::vector<Trial>& trials, double prior, const Objective& objective) {
  std::map<Knobs, std::vector<double>> objective_values;
  for (const Trial& trial : trials) {
    const double objective_value = objective_value_of(trial, objective);
    if (objective_value > 0 && !trial.noisy())
      objective_values[trial.knobs].push_back(objective_value);
  }
  std::vector<std::vector<double>> repeats;
  for (auto& [knobs, values] : objective_values) repeats.push_back(std::move(values));
  return pooled_noise(repeats, prior);
}

Interval rate_interval(const std::vector<double>& rates, double noise) {
  if (rates.empty()) return {};
  const double centre = median(rates);
  const double error = kWideInterval * noise / std::sqrt(static_cast<double>(rates.size()));
  Interval pooled{centre, centre * std::exp(-error), centre * std::exp(error)};
  if (rates.size() < 6) return pooled;
  const Interval drawn = bootstrap_median(rates, 0.95, 1, 300);
  return {centre, std::min(pooled.low, drawn.low), std::max(pooled.high, drawn.high)};
}

Interval ratio_interval(const Setting& a, const Setting& b, double noise) {
  if (a.rates.empty() || b.rates.empty()) return {};
  double centre = 0;
  double half = 0;
  const bool paired = a.race_rates.size() >= 2 && b.race_rates.size() >= 2;
  if (paired) {
    const PairedDifference difference = paired_difference(a.race_rates, b.race_rates, noise);
    centre = difference.mean;
    half = t_quantile_95(kPriorDof + difference.rounds - 1) * difference.error;
  } else {
    centre = std::log(median(a.judged()) / median(b.judged()));
    const double dof = static_cast<double>(a.judged().size() + b.judged().size()) - 2;
    half = t_quantile_95(kPriorDof + dof) *
           std::hypot(mean_error(a.judged(), noise), mean_error(b.judged(), noise));
  }
  return {std::exp(centre), std::exp(centre - half), std::exp(centre + half)};
}

Interval gain_interval(const Setting& chosen, const Setting& baseline, double noise) {
  Interval gain = ratio_interval(chosen, baseline, noise);
  if (chosen.race_rates.size() < 3 || baseline.race_rates.size() < 3) return gain;
  const PairedDifference difference =
      paired_difference(chosen.race_rates, baseline.race_rates, noise);
  const double half = t_quantile_95(difference.rounds - 1) * difference.own_error;
  gain.low = std::min(gain.low, gain.median * std::exp(-half));
  gain.high = std::max(gain.high, gain.median * std::exp(half));
  return gain;
}

std::vector<Setting> settings_of(const std::vector<Trial>& trials, double noise,
                                 const Objective& objective) {
  std::map<Knobs, Gathered> by_knobs;
  for (const Trial& trial : trials) {
    if (trial.outcome != Outcome::skipped) gather(by_knobs[trial.knobs], trial, objective);
  }
  std::vector<Setting> settings;
  for (auto& [knobs, gathered] : by_knobs) {
    Setting setting{gathered.summary,
                    gathered.clean.empty() ? gathered.discarded : gathered.clean,
                    gathered.race,
                    {}};
    // One failure and later successes: chance, kept as ok only if most trials worked.
    const int worked = setting.summary.trials - gathered.failures;
    if (gathered.failures > 0 && worked > gathered.failures) setting.summary.outcome = Outcome::ok;
    setting.estimate = rate_interval(setting.judged(), noise);
    setting.summary.samples_per_second = setting.estimate;
    if (objective.goal == Goal::latency || objective.goal == Goal::energy) {
      const bool clean = !gathered.clean_rates.empty();
      setting.summary.samples_per_second =
          rate_interval(clean ? gathered.clean_rates : gathered.discarded_rates, noise);
    }
    setting.summary.step_seconds = median(gathered.step_seconds);
    setting.summary.samples_per_joule = median(gathered.samples_per_joule);
    settings.push_back(std::move(setting));
  }
  std::stable_sort(settings.begin(), settings.end(), [](const Setting& a, const Setting& b) {
    if (a.works() != b.works()) return a.works();
    return a.estimate.median > b.estimate.median;
  });
  return settings;
}

const Interval& rate_of(const Setting& setting, const Objective& objective) {
  const bool rates = objective.goal == Goal::throughput || objective.goal == Goal::memory;
  return rates ? setting.estimate : setting.summary.samples_per_second;
}

std::string outcome_text(Outcome outcome) {
  std::string text(outcome_name(outcome));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

const Setting* find_setting(const std::vector<Setting>& settings, const Knobs& knobs) {
  for (const Setting& setting : settings) {
    if (setting.summary.knobs == knobs) return &setting;
  }
  return nullptr;
}

}  // namespace ocrtune
