#include "tuner/verdict/trial_growth.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/observe/memory_sampler.h"
#include "tuner/verdict/growth.h"

namespace ocrtune {
namespace {

constexpr double kMinSeconds = 4;  // watched after it settled; shorter is a part of the start
constexpr double kMinRiseBytes = 512.0 * 1024;
constexpr double kMinRiseShare = 0.002;  // of what it takes
constexpr double kSettleShare = 1.0 / 3;

}  // namespace

std::string trial_growth(const Trial& trial, std::uint64_t limit_bytes) {
  if (trial.memory_trace.size() < 2) return "";
  std::vector<TracePoint> trace;
  for (const MemoryPoint& point : trial.memory_trace) {
    trace.push_back({point.seconds, static_cast<double>(point.bytes)});
  }
  const double length = trace.back().seconds - trace.front().seconds;
  const auto growth = fit_growth(trace, trace.front().seconds + kSettleShare * length);
  if (!growth || growth->seconds < kMinSeconds || !growth->certain()) return "";
  const double least = std::max(kMinRiseBytes, kMinRiseShare * growth->now);
  // What grows once and then no more has its rise in one place, not in both halves.
  const auto halfway = growth->low * growth->seconds < least / 2;
  if (growth->rise < least || halfway) return "";
  const double limit = limit_bytes > 0 ? static_cast<double>(limit_bytes)
                                       : growth->now + static_cast<double>(host_available_bytes());
  return forecast_growth(*growth, limit, 0, least).words;
}

Reason repeated_growth(const std::vector<Trial>& trials, const Knobs& knobs) {
  int all = 0, growing = 0;
  std::string last;
  for (const Trial& trial : trials) {
    if (!(trial.knobs == knobs) || !trial.ok()) continue;
    all += 1;
    for (const std::string& line : trial.evidence) {
      if (!starts_with(line, "memory grows by ")) continue;
      growing += 1;
      last = line;
    }
  }
  if (growing < 2 || 3 * growing < 2 * all) return {};
  return reason<ReasonCode::memory_grows_in_trials>(counted(growing), counted(all), verbatim(last));
}

}  // namespace ocrtune
