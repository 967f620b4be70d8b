// Early and late windows of long trials, compared as two settings would be.
#include "tuner/models/long_look.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/normal.h"
#include "base/stats.h"
#include "trial/observe/undisturbed_rate.h"
#include "tuner/models/repeats.h"

namespace ocrtune {
namespace {

constexpr double kAlike = 0.10;         // a smaller change is within what a tune claims
constexpr std::size_t kMinWindows = 2;  // of either part, for an error of its rate

bool is_long(const Trial& trial) { return trial.phase == kLongPhase && trial.ok(); }

double usual_seconds(const std::vector<Trial>& trials) {
  std::vector<double> seconds;
  for (const Trial& trial : trials) {
    if (trial.ok() && !is_long(trial)) seconds.push_back(trial.measured_seconds());
  }
  return median(std::move(seconds));
}

std::vector<Sample> beginning(const Trial& trial, double seconds) {
  std::vector<Sample> samples;
  for (const Sample& sample : trial.samples) {
    if (seconds <= 0 && samples.size() >= kMinWindows) break;
    samples.push_back(sample);
    seconds -= sample.seconds;
  }
  return samples;
}

// What a long trial says of an hour: all of it where windows are slow again and again, which a
// beginning is too short to hold; else its later half.
Trial lasting_part(Trial trial) {
  return undisturbed_rate(trial.samples).slow.recur() ? trial : later_half(std::move(trial));
}

// Relative, of what the machine makes of a setting from launch to launch; the beginning of a long
// trial is a launch as the others are, whatever its program does later.
double noise_of(const std::vector<Trial>& trials, double first_seconds) {
  std::map<Knobs, std::vector<double>> rates;
  for (const Trial& trial : trials) {
    if (!trial.ok()) continue;
    const double rate = is_long(trial)
                            ? undisturbed_rate(beginning(trial, first_seconds)).samples_per_second
                            : trial.samples_per_second;
    if (rate > 0) rates[trial.knobs].push_back(rate);
  }
  std::vector<std::vector<double>> repeats;
  for (auto& [knobs, own] : rates) repeats.push_back(std::move(own));
  return pooled_noise(repeats, kExpectedNoise);
}

// ln(rate that lasts / rate at the beginning); 0: alike, or not known well enough. `noise` is in
// both parts, which lie as far apart as two trials.
double log_change(const Trial& trial, double first_seconds, double noise) {
  const std::vector<Sample> first = beginning(trial, first_seconds);
  const RateEstimate whole = undisturbed_rate(trial.samples);
  if (whole.slow.recur() && first.size() >= kMinWindows) {
    const double usual = undisturbed_rate(first).model_samples_per_second;
    const double change = usual > 0 ? std::log(whole.model_samples_per_second / usual) : 0;
    return std::fabs(change) > std::log1p(kAlike) ? change : 0;
  }
  const std::vector<Sample> later = later_half(trial).samples;
  // A window that is in both parts would make them alike.
  const bool apart = first.size() + later.size() <= trial.samples.size();
  if (!apart || first.size() < kMinWindows || later.size() < kMinWindows) return 0;
  const RateEstimate before = undisturbed_rate(first), after = undisturbed_rate(later);
  if (!(before.model_samples_per_second > 0 && after.model_samples_per_second > 0)) return 0;
  const double change = std::log(after.model_samples_per_second / before.model_samples_per_second);
  const double errors[] = {before.error, before.model_error, before.sharing_error,
                           after.error,  after.model_error,  after.sharing_error};
  double squares = 2 * noise * noise;
  for (const double error : errors) squares += error * error;
  const bool clear = std::fabs(change) > kNormal95 * std::sqrt(squares);
  return clear && std::fabs(change) > std::log1p(kAlike) ? change : 0;
}

void scale(double factor, Trial& trial) {
  for (Sample& sample : trial.samples) {
    // All times together: the windows stay consistent with each other.
    sample.seconds /= factor;
    sample.interference.observed_seconds /= factor;
    sample.interference.cpu_seconds /= factor;
    sample.interference.external_wait_seconds /= factor;
    sample.interference.longest_external_wait_seconds /= factor;
  }
  trial.samples_per_second *= factor;
}

// Of each setting that ran both for long and as usual: the rate of its later half over the mean of
// its usual trials. Scaled by it these keep their spread, and say no other rate.
std::map<Knobs, double> factors_of(const std::vector<Trial>& trials) {
  std::map<Knobs, std::pair<std::vector<double>, std::vector<double>>> logs;
  for (const Trial& trial : trials) {
    if (!trial.ok() || !(trial.samples_per_second > 0)) continue;
    auto& [usual, later] = logs[trial.knobs];
    (is_long(trial) ? later : usual).push_back(std::log(trial.samples_per_second));
  }
  std::map<Knobs, double> factors;
  for (const auto& [knobs, both] : logs) {
    const auto& [usual, later] = both;
    if (!usual.empty() && !later.empty()) factors[knobs] = std::exp(mean(later) - mean(usual));
  }
  return factors;
}

}  // namespace

Trial later_half(Trial trial) {
  const double half = trial.measured_seconds() / 2;
  double seconds = 0;
  auto first = trial.samples.begin();
  while (first != trial.samples.end() && seconds < half) seconds += (first++)->seconds;
  if (first == trial.samples.end()) return trial;
  trial.samples.erase(trial.samples.begin(), first);
  trial.samples_per_second = undisturbed_rate(trial.samples).samples_per_second;
  return trial;
}

LongLook long_look(const std::vector<Trial>& trials) {
  LongLook look;
  look.first_seconds = usual_seconds(trials);
  if (std::ranges::none_of(trials, is_long)) return look;
  const double noise = noise_of(trials, look.first_seconds);
  double logs = 0;
  int count = 0;
  bool any = false;
  for (const Trial& trial : trials) {
    if (!is_long(trial)) continue;
    const double change = log_change(trial, look.first_seconds, noise);
    any = any || change != 0;
    logs += change;
    ++count;
    look.seconds = std::max(look.seconds, trial.measured_seconds());
  }
  if (any) look.change = std::exp(logs / count);
  return look;
}

std::vector<Trial> by_long_look(std::vector<Trial> trials, const LongLook& look,
                                std::vector<Trial>* cold) {
  if (!look.changes()) return trials;
  for (Trial& trial : trials) {
    if (is_long(trial)) trial = lasting_part(std::move(trial));
  }
  const std::map<Knobs, double> factors = factors_of(trials);
  // Settings that nobody watched for long get the least factor: no gain by not being looked at.
  double others = factors.empty() ? look.change : std::numeric_limits<double>::infinity();
  for (const auto& [knobs, factor] : factors) others = std::min(others, factor);
  const auto scale_usual = [&](std::vector<Trial>& usual) {
    for (Trial& trial : usual) {
      if (is_long(trial)) continue;
      const auto own = factors.find(trial.knobs);
      scale(own == factors.end() ? others : own->second, trial);
    }
  };
  scale_usual(trials);
  if (cold != nullptr) scale_usual(*cold);
  return trials;
}

Reason long_look_reason(const LongLook& look) {
  if (!look.changes()) return {};
  return reason<ReasonCode::rate_changes_later>(
      in_seconds(look.seconds / 2), decimal(look.change, 2), in_seconds(look.first_seconds));
}

}  // namespace ocrtune
