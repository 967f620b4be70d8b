// Gathers each setting's trials, fits the rates of all at once, and bounds what may be told by what
// was seen. Three intervals follow: the estimate for comparing, the rate of past launches, and that
// of the next one.
#include "tuner/verdict/settings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/normal.h"
#include "base/stats.h"
#include "trial/observe/undisturbed_rate.h"
#include "tuner/models/repeats.h"
#include "tuner/models/sample_cost.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxThreads = 100000;  // of a process: tells teams apart
constexpr double kDisturbedError = 3;        // times the noise, where nothing says what was lost

struct Gathered {
  std::vector<double> objective_values, step_seconds;
  std::vector<double> cpu_seconds, disturbed_cpu_seconds;  // of a sample
  std::vector<double> raw_rates, counted_shares;
  std::vector<double> quiet_rates;         // of trials that nothing seen disturbed
  double max_clean = 0, max_modelled = 0;  // that a trial of its kind allows to be told
  double max_answered = 0;  // by a service, under any number in flight; 0: it is none
  SettingSummary summary;
  int failures = 0;
  bool raced = false, modelled = true;
  bool lasting = false;  // a failure that no later trial makes a chance
};

void gather(Gathered& into, const Trial& trial, const Objective& objective) {
  SettingSummary& summary = into.summary;
  summary.knobs = trial.knobs;
  ++summary.trials;
  add_peaks(trial, summary);
  for (const Sample& sample : trial.samples) {
    ++(sample.clean() ? summary.clean_samples : summary.discarded_samples);
  }
  if (!trial.ok()) {
    ++into.failures;
    const bool broke = trial.outcome == Outcome::crashed || trial.outcome == Outcome::hung;
    summary.crashes += broke ? 1 : 0;
    // What it computes is wrong, however often it seems right; memory that ran out once runs out
    // again.
    into.lasting = into.lasting || trial.outcome == Outcome::wrong_result ||
                   trial.outcome == Outcome::out_of_memory;
    summary.outcome = trial.outcome;
    summary.reason = verbatim(trial.reason);
    return;
  }
  const double objective_value = objective_value_of(trial, objective);
  if (!(objective_value > 0)) return;
  if (trial.threads.alive > 0) summary.threads = trial.threads;
  if (trial.network_bytes_per_second > 0) {
    summary.network_bytes_per_second = trial.network_bytes_per_second;
  }
  into.step_seconds.push_back(step_seconds_of(trial, objective));
  into.objective_values.push_back(objective_value);
  if (trial.counts_to > 0) summary.counts_to = trial.counts_to;
  if (trial.counted_share > 0) into.counted_shares.push_back(trial.counted_share);
  into.raced = into.raced || trial.phase == "race";
  const RateEstimate rate = undisturbed_rate(trial);
  into.modelled = into.modelled && rate.modelled;
  if (rate.raw_samples_per_second > 0) into.raw_rates.push_back(rate.raw_samples_per_second);
  if (!rate.modelled && !trial.noisy()) into.quiet_rates.push_back(rate.samples_per_second);
  double& most = rate.modelled ? into.max_modelled : into.max_clean;
  most = std::max(most, rate.max_samples_per_second);
  for (const LoadPoint& load : trial.service.loads) {
    if (load.in_flight > 0) {
      into.max_answered =
          std::max({into.max_answered, load.requests_per_second, rate.raw_samples_per_second});
    }
  }
  if (rate.cpu_seconds > 0) {
    (rate.modelled ? into.disturbed_cpu_seconds : into.cpu_seconds).push_back(rate.cpu_seconds);
  }
}

// What a trial says of its setting; `value` is its rate, or its objective.
RateObservation observation_of(const Trial& trial, std::size_t setting, const SampleCost& cost,
                               const Objective& objective, double noise) {
  const bool rates = learns_rates(objective);
  RateObservation seen;
  seen.setting = setting;
  seen.team = static_cast<std::size_t>(trial.knobs.nproc) * kMaxThreads +
              static_cast<std::size_t>(trial.knobs.threads);
  seen.round = trial.round;
  seen.log_rate = std::log(rate_by(cost, trial, objective));
  const RateEstimate estimate = undisturbed_rate(trial, cost.least(trial.knobs));
  if (!estimate.modelled) return seen;
  seen.error = rates ? estimate.error : kDisturbedError * noise;
  seen.model_error = rates ? estimate.model_error : 0;
  seen.sharing_error = rates ? estimate.sharing_error : 0;
  return seen;
}

std::shared_ptr<const RateFit> fit_of(const std::vector<Trial>& trials,
                                      const std::map<Knobs, std::size_t>& places, double noise,
                                      const Objective& objective) {
  SampleCost cost;
  for (const Trial& trial : trials) cost.add(trial);
  std::vector<RateObservation> seen;
  for (const Trial& trial : trials) {
    if (trial.outcome == Outcome::skipped || !(objective_value_of(trial, objective) > 0)) continue;
    seen.push_back(observation_of(trial, places.at(trial.knobs), cost, objective, noise));
  }
  return std::make_shared<const RateFit>(seen, places.size(), noise);
}

// Not above the best window that nothing disturbed, nor by more than 30 % above what was measured.
double max_rate_of(const Gathered& seen) {
  const double measured = kMostChange * median(seen.raw_rates);
  return std::max(seen.max_clean, std::min(seen.max_modelled, measured));
}

// The rate by the fit, as far as it may be told. A fit that goes further is no evidence: then the
// rate is told as it was measured beside the load.
Interval told_rate(const Interval& fitted, const Gathered& seen, double noise) {
  const double most = max_rate_of(seen);
  if (seen.raw_rates.empty() || fitted.median <= most) return fitted;
  if (seen.max_clean > 0) return {most, fitted.low * most / fitted.median, fitted.high};
  std::vector<RateObservation> raw;
  for (const double rate : seen.raw_rates) raw.push_back({.log_rate = std::log(rate)});
  Interval told = RateFit(raw, 1, noise).rate(0);
  // What the load took is not known.
  told.high = std::max(told.high, kMostChange * median(seen.raw_rates));
  return told;
}

// Launches differ by the noise: the mean of many is known better than what the next one gives.
Interval of_next_launch(const Interval& mean_rate, double noise) {
  if (!(mean_rate.low > 0)) return mean_rate;
  const double launch = kNormal95 * noise;
  const double down = std::hypot(std::log(mean_rate.median / mean_rate.low), launch);
  const double up = std::hypot(std::log(mean_rate.high / mean_rate.median), launch);
  return {mean_rate.median, mean_rate.median * std::exp(-down), mean_rate.median * std::exp(up)};
}

// What a launch did while nothing else ran, the next one may do, too, however far from the others
// it lies: of fewer than 40 launches one is more than the 2.5 % that an interval leaves out there.
Interval with_launches(Interval next, std::vector<double> quiet_rates) {
  if (quiet_rates.empty()) return next;
  std::sort(quiet_rates.begin(), quiet_rates.end());
  const std::size_t beyond = quiet_rates.size() / 40;
  next.low = std::min(next.low, quiet_rates[beyond]);
  next.high = std::max(next.high, quiet_rates[quiet_rates.size() - 1 - beyond]);
  return next;
}

// The interval ends where the value has to: a server answers no more than it was seen to answer.
Interval within(const Interval& rate, double most) {
  if (most <= 0) return rate;
  return {std::min(rate.median, most), std::min(rate.low, most), std::min(rate.high, most)};
}

std::vector<std::vector<double>> repeats_of(const std::vector<Trial>& trials,
                                            const Objective& objective, bool noisy) {
  std::map<Knobs, std::vector<double>> objective_values;
  for (const Trial& trial : trials) {
    const double value = objective_value_of(trial, objective);
    if (value > 0 && trial.noisy() == noisy) objective_values[trial.knobs].push_back(value);
  }
  std::vector<std::vector<double>> repeats;
  for (auto& [knobs, values] : objective_values) {
    if (values.size() > 1) repeats.push_back(std::move(values));
  }
  return repeats;
}

}  // namespace

int cpus_in_reach(const std::vector<Trial>& trials, const Knobs& knobs, int cpus) {
  int most = 0;
  for (const Trial& trial : trials) {
    if (trial.knobs == knobs && trial.ok()) most = std::max(most, trial.stages.allowed_cpus);
  }
  return most > 0 ? std::min(most, cpus) : cpus;
}

void add_peaks(const Trial& trial, SettingSummary& summary) {
  const auto add = [](Resource& resource, std::uint64_t peak, std::uint64_t possible) {
    resource.peak = std::max(resource.peak, peak);
    resource.possible = std::max({resource.possible, peak, possible});
  };
  summary.peak_bytes = std::max(summary.peak_bytes, trial.peak_bytes);
  add(summary.host, trial.host_peak_bytes, trial.possible_peak_bytes);
  // Of several, the one that is nearest to its end.
  const auto keep_fullest = [](Resource& resource, std::uint64_t peak, std::uint64_t limit) {
    const auto filled = [](std::uint64_t used, std::uint64_t size) {
      return size > 0 ? static_cast<double>(used) / static_cast<double>(size) : 0;
    };
    if (filled(peak, limit) < filled(resource.peak, resource.limit)) return;
    resource.limit = limit;
    resource.peak = resource.possible = peak;
  };
  for (const GpuShare& gpu : trial.gpus) {
    if (gpu.worked) keep_fullest(summary.gpu, gpu.peak_bytes, gpu.size_bytes);
  }
  summary.tasks.kind = ResourceKind::tasks;
  summary.files.kind = ResourceKind::open_files;
  keep_fullest(summary.tasks, trial.tasks.peak, trial.tasks.limit);
  keep_fullest(summary.files, trial.files.peak, trial.files.limit);
}

void weigh_beside(const std::vector<Trial>& trials, std::vector<Setting>& settings) {
  for (Setting& setting : settings) {
    SettingSummary& summary = setting.summary;
    const Trial* trial = latest_of(trials, summary.knobs);
    if (trial == nullptr) continue;
    add_peaks(*trial, summary);
    if (trial->outcome != Outcome::out_of_memory) continue;
    summary.outcome = trial->outcome;
    summary.reason = verbatim(trial->reason);
  }
  put_working_first(settings);
}

void put_working_first(std::vector<Setting>& settings) {
  std::stable_partition(settings.begin(), settings.end(),
                        [](const Setting& setting) { return setting.works(); });
}

double repeat_noise(const std::vector<Trial>& trials, double prior, const Objective& objective) {
  const auto quiet = repeats_of(trials, objective, false);
  return pooled_noise(quiet.empty() ? repeats_of(trials, objective, true) : quiet, prior);
}

bool noise_is_measured(const std::vector<Trial>& trials, const Objective& objective) {
  return !repeats_of(trials, objective, false).empty() ||
         !repeats_of(trials, objective, true).empty();
}

Interval ratio_interval(const Setting& a, const Setting& b) {
  if (!a.fit || a.fit != b.fit) return {};
  return a.fit->ratio(a.place, b.place);
}

Interval told_ratio(const Setting& a, const Setting& b) {
  // Of each, side by side, as a user finds out. Repeats within minutes do not tell what launches of
  // another hour will be: bench/RESULTS.md, "The printed line, pasted".
  constexpr double kLaunches = 3;
  Interval ratio = ratio_interval(a, b);
  if (!(ratio.low > 0)) return ratio;
  if (a.max_rate > 0 && b.mean_rate.median > 0) {
    // As wide as the fit's: an estimate at the edge of its interval says nothing of the noise.
    const double share = std::min(1.0, a.max_rate / b.mean_rate.median / ratio.median);
    ratio = {share * ratio.median, share * ratio.low, share * ratio.high};
  }
  const auto launch = [](const Setting& of) {
    return std::hypot(of.fit->noise(of.place), of.another_hour);
  };
  const double noise = std::hypot(launch(a), launch(b));
  Interval told = of_next_launch(ratio, noise / std::sqrt(kLaunches));
  // What made a launch so slow, or so fast, may last for all three.
  const auto apart = [](double launch, const Setting& of) {
    return launch > 0 && of.mean_rate.median > 0 ? launch / of.mean_rate.median : 1.0;
  };
  const double down = std::min(apart(a.slow_launch, a), 1 / apart(b.fast_launch, b));
  const double up = std::max(apart(a.fast_launch, a), 1 / apart(b.slow_launch, b));
  told.low = std::min(told.low, ratio.median * down);
  told.high = std::max(told.high, ratio.median * up);
  // Which of the two is the faster one all trials say together.
  if (ratio.low > 1) told.low = std::max(told.low, 1.0);
  if (ratio.high < 1) told.high = std::min(told.high, 1.0);
  return told;
}

const Trial* latest_of(const std::vector<Trial>& trials, const Knobs& knobs) {
  const auto found = std::find_if(trials.rbegin(), trials.rend(),
                                  [&](const Trial& trial) { return trial.knobs == knobs; });
  return found == trials.rend() ? nullptr : &*found;
}

const Trial* longest_of(const std::vector<Trial>& trials, const Knobs& knobs) {
  const Trial* longest = nullptr;
  for (const Trial& trial : trials) {
    if (!trial.ok() || trial.knobs != knobs) continue;
    const double seconds = trial.stages.observed_seconds;
    if (longest == nullptr || seconds >= longest->stages.observed_seconds) longest = &trial;
  }
  return longest;
}

std::vector<Setting> settings_of(const std::vector<Trial>& trials, double noise,
                                 const Objective& objective, double another_hour) {
  std::map<Knobs, Gathered> by_knobs;
  for (const Trial& trial : trials) {
    if (trial.outcome != Outcome::skipped) gather(by_knobs[trial.knobs], trial, objective);
  }
  std::map<Knobs, std::size_t> places;
  for (const auto& [knobs, gathered] : by_knobs) places.emplace(knobs, places.size());
  const auto fit = fit_of(trials, places, noise, objective);
  // Samples per second are told whatever the goal is: another goal needs a second fit.
  const auto rates = learns_rates(objective) ? fit : fit_of(trials, places, noise, Objective());
  std::vector<Setting> settings;
  for (auto& [knobs, gathered] : by_knobs) {
    Setting setting;
    setting.summary = gathered.summary;
    setting.rates = std::move(gathered.objective_values);
    setting.raced = gathered.raced;
    setting.fit = fit;
    setting.place = places.at(knobs);
    // One failure and later successes: chance, kept as ok only if most trials worked.
    const int worked = setting.summary.trials - gathered.failures;
    const bool chance = gathered.failures > 0 && worked > gathered.failures;
    if (chance && !gathered.lasting) setting.summary.outcome = Outcome::ok;
    setting.estimate = fit->rate(setting.place);
    if (learns_rates(objective)) setting.max_rate = max_rate_of(gathered);
    const double most = gathered.max_answered;
    setting.mean_rate = within(told_rate(rates->rate(setting.place), gathered, noise), most);
    const double cpu_seconds = median(gathered.cpu_seconds.empty() ? gathered.disturbed_cpu_seconds
                                                                   : gathered.cpu_seconds);
    setting.summary.cpu_seconds_per_sample = cpu_seconds;
    // Who sleeps misses nothing of a CPU.
    const double busy = cpu_seconds > 0 ? std::min(1.0, cpu_seconds * setting.mean_rate.median) : 1;
    setting.another_hour = busy * another_hour;
    const double launch = std::hypot(rates->noise(setting.place), setting.another_hour);
    const Interval next = of_next_launch(setting.mean_rate, launch);
    const Interval seen = with_launches(next, gathered.quiet_rates);
    if (seen.low < next.low) setting.slow_launch = seen.low;
    if (seen.high > next.high) setting.fast_launch = seen.high;
    setting.summary.samples_per_second = within(seen, most);
    setting.summary.modelled = gathered.modelled && !setting.rates.empty();
    setting.summary.counted_share = median(gathered.counted_shares);
    setting.summary.step_seconds = median(gathered.step_seconds);
    settings.push_back(std::move(setting));
  }
  std::stable_sort(settings.begin(), settings.end(), [](const Setting& a, const Setting& b) {
    if (a.works() != b.works()) return a.works();
    return a.estimate.median > b.estimate.median;
  });
  return settings;
}

Reason outcome_reason(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return reason<ReasonCode::outcome_ok>();
    case Outcome::out_of_memory:
      return reason<ReasonCode::outcome_out_of_memory>();
    case Outcome::hung:
      return reason<ReasonCode::outcome_hung>();
    case Outcome::timed_out:
      return reason<ReasonCode::outcome_timed_out>();
    case Outcome::crashed:
      return reason<ReasonCode::outcome_crashed>();
    case Outcome::wrong_result:
      return reason<ReasonCode::outcome_wrong_result>();
    case Outcome::unsupported:
      return reason<ReasonCode::outcome_unsupported>();
    case Outcome::skipped:
      return reason<ReasonCode::outcome_skipped>();
  }
  return {};
}

const Setting* find_setting(const std::vector<Setting>& settings, const Knobs& knobs) {
  for (const Setting& setting : settings) {
    if (setting.summary.knobs == knobs) return &setting;
  }
  return nullptr;
}

}  // namespace ocrtune
