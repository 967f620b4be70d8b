// Windows by their lowest points, Sen's slope over the pairs of windows, the same of the last half
// alone. Thresholds tell an allocator's first rounds and heaps that still fill from leaks.
#include "tuner/verdict/growth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/normal.h"
#include "base/stats.h"
#include "base/text.h"
#include "trial/observe/memory_sampler.h"

namespace ocrtune {
namespace {

constexpr double kMinSeconds = 4;  // watched after it settled; shorter is a part of the start
// Guesses: a smaller rise is an allocator's.
constexpr double kMinRiseBytes = 512.0 * 1024;
constexpr double kMinRiseShare = 0.002;  // of what it takes
constexpr double kSettleShare = 1.0 / 3;
constexpr double kLeakSeconds = 300;  // of watch, in which a heap has been collected; guess
constexpr double kLeakShare = 0.25;   // of what it took at first, by which a leak rises; guess

constexpr std::size_t kMinPoints = 8;
constexpr std::size_t kMaxWindows = 32;
constexpr double kDay = 86400;

// The lowest point of each of `count` equal spans of time.
std::vector<TracePoint> lowest_points(const std::vector<TracePoint>& trace, std::size_t count) {
  const double begin = trace.front().seconds;
  const double span = (trace.back().seconds - begin) / static_cast<double>(count);
  std::vector<TracePoint> lowest;
  std::size_t window = count;  // none yet
  for (const TracePoint& point : trace) {
    const auto at = std::min(static_cast<std::size_t>((point.seconds - begin) / span), count - 1);
    if (at != window) {
      lowest.push_back(point);
      window = at;
    } else if (point.value < lowest.back().value) {
      lowest.back() = point;
    }
  }
  return lowest;
}

// Sen's interval: the slopes of rank (N -+ z sqrt(n (n-1) (2n+5) / 18)) / 2.
void set_slope(const std::vector<TracePoint>& points, Growth& growth) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double seconds = points[j].seconds - points[i].seconds;
      if (seconds > 0) slopes.push_back((points[j].value - points[i].value) / seconds);
    }
  }
  if (slopes.empty()) return;
  std::sort(slopes.begin(), slopes.end());
  const auto n = static_cast<double>(points.size());
  const auto total = static_cast<double>(slopes.size());
  // The variance of Kendall's statistic without ties.
  const double half = kNormal95 * std::sqrt(n * (n - 1) * (2 * n + 5) / 18) / 2;
  const auto at = [&](double rank) {
    return slopes[static_cast<std::size_t>(std::clamp(rank, 0.0, total - 1))];
  };
  growth.per_second = median(slopes);
  growth.low = at(std::floor(total / 2 - half));
  growth.high = at(std::ceil(total / 2 + half));
}

}  // namespace

std::optional<Growth> fit_growth(const std::vector<TracePoint>& trace, double settle_seconds) {
  std::vector<TracePoint> settled;
  for (const TracePoint& point : trace) {
    if (point.seconds >= settle_seconds && std::isfinite(point.value)) settled.push_back(point);
  }
  if (settled.size() < kMinPoints || settled.back().seconds <= settled.front().seconds) {
    return std::nullopt;
  }
  // Two points a window, at least; pairs grow with the square of the windows.
  const auto windows = lowest_points(settled, std::min(kMaxWindows, settled.size() / 2));
  Growth growth;
  growth.seconds = settled.back().seconds - settled.front().seconds;
  growth.now = windows.back().value;
  set_slope(windows, growth);
  growth.rise = growth.per_second * growth.seconds;
  Growth recent;
  set_slope({windows.begin() + static_cast<std::ptrdiff_t>(windows.size() / 2), windows.end()},
            recent);
  growth.recent_low = recent.low;
  return growth;
}

GrowthForecast forecast_growth(const Growth& growth, double limit, double planned_seconds,
                               double min_rise, const GrowthSubject& subject) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double room = std::max(limit - growth.now, 0.0);
  const auto time_at = [&](double slope) { return slope > 0 ? room / slope : kNever; };
  GrowthForecast forecast;
  forecast.seconds_left = time_at(growth.per_second);
  forecast.earliest = time_at(growth.high);
  forecast.latest = time_at(growth.low);
  const double horizon = planned_seconds > 0 ? planned_seconds : kDay;
  forecast.alarm = growth.certain() && growth.rise >= min_rise && forecast.seconds_left <= horizon;
  const auto amount = [&](double value) {
    return subject.bytes ? format_bytes(static_cast<std::uint64_t>(std::max(value, 0.0)))
                         : fmt::format("{:.3g}", std::max(value, 0.0));
  };
  forecast.words =
      growth.certain()
          ? fmt::format("{} grows by {}/s ({} .. {}): the limit of {} is met in {} ({} .. {})",
                        subject.name, amount(growth.per_second), amount(growth.low),
                        amount(growth.high), amount(limit), format_duration(forecast.seconds_left),
                        format_duration(forecast.earliest), format_duration(forecast.latest))
          : subject.name + " does not grow";
  return forecast;
}

void GrowthTrace::add(double seconds, double value) {
  if (waiting_ == 0 || value < lowest_.value) lowest_ = {seconds, value};
  if (++waiting_ < stride_) return;
  waiting_ = 0;
  points_.push_back(lowest_);
  if (points_.size() < max_points_) return;
  std::vector<TracePoint> halved;
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
    halved.push_back(points_[i].value <= points_[i + 1].value ? points_[i] : points_[i + 1]);
  }
  points_ = std::move(halved);
  stride_ *= 2;
}

MemoryGrowth memory_growth(const Trial& trial) {
  if (trial.memory_trace.size() < 2) return {};
  std::vector<TracePoint> trace;
  for (const MemoryPoint& point : trial.memory_trace) {
    trace.push_back({point.seconds, static_cast<double>(point.bytes)});
  }
  MemoryGrowth found;
  found.watched_seconds = trace.back().seconds - trace.front().seconds;
  found.last_bytes = trial.memory_trace.back().bytes;
  const auto growth =
      fit_growth(trace, trace.front().seconds + kSettleShare * found.watched_seconds);
  if (!growth || growth->seconds < kMinSeconds || !growth->certain()) return found;
  const double least = std::max(kMinRiseBytes, kMinRiseShare * growth->now);
  // What grows once and then no more has its rise in one place, not in both halves.
  const bool halfway = growth->low * growth->seconds < least / 2;
  if (growth->rise < least || halfway) return found;
  found.bytes_per_second = growth->per_second;
  found.low = growth->low;
  found.high = growth->high;
  found.certain = true;
  return found;
}

GrowthForecast forecast_trial(const MemoryGrowth& growth, std::uint64_t limit_bytes) {
  Growth slope;
  slope.per_second = growth.bytes_per_second;
  slope.low = growth.low;
  slope.high = growth.high;
  // memory_growth() has judged the last part already.
  slope.recent_low = growth.low;
  slope.now = static_cast<double>(growth.last_bytes);
  const double limit = limit_bytes > 0 ? static_cast<double>(limit_bytes)
                                       : slope.now + static_cast<double>(host_available_bytes());
  return forecast_growth(slope, limit, 0, 0);
}

bool is_surely_a_leak(const MemoryGrowth& growth) {
  const double rise = growth.bytes_per_second * growth.watched_seconds;
  const double first = static_cast<double>(growth.last_bytes) - rise;
  return growth.watched_seconds >= kLeakSeconds || rise >= kLeakShare * first;
}

Reason repeated_growth(const std::vector<Trial>& trials, const Knobs& knobs,
                       std::uint64_t limit_bytes) {
  int all = 0, growing = 0, leaking = 0;
  MemoryGrowth last;
  for (const Trial& trial : trials) {
    if (!(trial.knobs == knobs) || !trial.ok()) continue;
    all += 1;
    if (!trial.growth.certain) continue;
    growing += 1;
    leaking += is_surely_a_leak(trial.growth) ? 1 : 0;
    last = trial.growth;
  }
  if (growing < 2 || 3 * growing < 2 * all) return {};
  if (2 * leaking < growing) {
    return reason<ReasonCode::memory_may_grow_in_trials>(counted(growing), counted(all),
                                                         in_bytes(last.bytes_per_second),
                                                         in_seconds(last.watched_seconds));
  }
  return reason<ReasonCode::memory_grows_in_trials>(
      counted(growing), counted(all), in_bytes(last.bytes_per_second), in_bytes(last.low),
      in_bytes(last.high), in_seconds(forecast_trial(last, limit_bytes).seconds_left));
}

}  // namespace ocrtune
