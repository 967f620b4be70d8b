// The last soak of a setting beside its trials: memory by its growth, the rate as it was measured
// in both.
#include "tuner/verdict/soak.h"

#include <algorithm>
#include <cmath>

#include "base/stats.h"
#include "tuner/models/repeats.h"
#include "tuner/verdict/beside_load.h"
#include "tuner/verdict/growth.h"

namespace ocrtune {
namespace {

// Guess: a restart halfway leaves room for a growth that is twice as fast.
constexpr double kRecycleShare = 0.5;  // of the way to the limit
constexpr double kFalls = 0.15;        // of the rate, that is no noise; guess
constexpr double kWorthMore = 1.05;    // more in flight must bring this much

// Two digits, so that it reads like advice.
double rounded_down(double value) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(value)) - 1));
  return std::floor(value / unit) * unit;
}

}  // namespace

FullLoad full_load(const std::vector<Trial>& trials, const Knobs& knobs) {
  // The latest trial that tells: it knows best what the server bears.
  for (auto trial = trials.rbegin(); trial != trials.rend(); ++trial) {
    if (!trial->ok() || trial->knobs != knobs) continue;
    FullLoad full{trial->service.in_flight, trial->start_seconds};
    double most = 0;  // requests/s
    for (const LoadPoint& load : trial->service.loads) {
      const bool closed = load.in_flight > 0 && load.late == 0;
      if (trial->service.in_flight > 0 || !closed) continue;
      if (load.requests_per_second <= kWorthMore * most) continue;
      most = load.requests_per_second;
      full.in_flight = load.in_flight;
    }
    if (full.in_flight > 0) return full;
  }
  return {};
}

void weigh_soaks(const std::vector<Trial>& soaks, std::vector<Setting>& settings) {
  for (Setting& setting : settings) {
    const Trial* soak = latest_of(soaks, setting.summary.knobs);
    if (soak == nullptr) continue;
    const bool broke = soak->outcome == Outcome::crashed || soak->outcome == Outcome::hung;
    setting.summary.crashes += broke ? 1 : 0;
  }
  weigh_beside(soaks, settings);
}

Reason soak_reason(const std::vector<Trial>& soaks, const Knobs& knobs, std::uint64_t limit_bytes,
                   bool counts_requests) {
  const Trial* soak = latest_of(soaks, knobs);
  if (soak == nullptr) return {};
  const MemoryGrowth& found = soak->growth;
  if (!soak->ok() || found.watched_seconds <= 0) {
    return reason<ReasonCode::soak_failed>(in_seconds(soak->seconds), verbatim(soak->reason));
  }
  const double room = static_cast<double>(limit_bytes) - static_cast<double>(found.last_bytes);
  const bool grows = found.certain && soak->samples_per_second > 0;
  if (!grows) {
    return reason<ReasonCode::soak_steady>(in_seconds(found.watched_seconds),
                                           in_bytes(static_cast<double>(soak->peak_bytes)));
  }
  if (limit_bytes == 0 || room <= 0 || !is_surely_a_leak(found)) {
    return reason<ReasonCode::soak_may_grow>(in_seconds(found.watched_seconds),
                                             in_bytes(found.bytes_per_second));
  }
  const double seconds = room / found.bytes_per_second;
  const double often = kRecycleShare * seconds;
  const Number limit = in_bytes(static_cast<double>(limit_bytes));
  if (!counts_requests) {
    return reason<ReasonCode::soak_grows>(in_seconds(found.watched_seconds),
                                          in_bytes(found.bytes_per_second), limit,
                                          in_seconds(seconds), in_seconds(often));
  }
  const double rate = soak->samples_per_second;
  return reason<ReasonCode::soak_grows_by_request>(
      in_seconds(found.watched_seconds), in_bytes(found.bytes_per_second / rate), limit,
      counted(std::llround(std::floor(seconds * rate))), in_seconds(seconds),
      counted(std::llround(rounded_down(std::max(1.0, often * rate)))), in_seconds(often));
}

Reason soak_falls(const std::vector<Trial>& soaks, const std::vector<Trial>& trials,
                  const Knobs& knobs, double noise) {
  const Trial* soak = latest_of(soaks, knobs);
  if (soak == nullptr || !soak->ok()) return {};
  std::vector<double> rates;
  for (const Trial& trial : trials) {
    if (trial.ok() && trial.knobs == knobs) rates.push_back(measured_rate(trial));
  }
  const double usual = rates.empty() ? 0 : median(rates);
  const double share = usual > 0 ? measured_rate(*soak) / usual : 1;
  // Beyond both: the fall that is no noise, and the noise of this run.
  if (!(share > 0) || share > std::min(1 - kFalls, std::exp(-kFarOff * noise))) return {};
  const double minutes = soak->measured_seconds() / 60;
  return reason<ReasonCode::rate_falls>(as_rate(usual), as_rate(share * usual),
                                        in_percent(std::min(1.0, (1 - share) / minutes)));
}

}  // namespace ocrtune
