#include "tuner/verdict/soak.h"

#include <algorithm>
#include <cmath>

#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr double kRecycleShare = 0.5;  // of the way to the limit

// Two digits, so that it reads like advice.
double rounded_down(double value) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(value)) - 1));
  return std::floor(value / unit) * unit;
}

}  // namespace

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
  if (!grows || limit_bytes == 0 || room <= 0) {
    return reason<ReasonCode::soak_steady>(in_seconds(found.watched_seconds),
                                           in_bytes(static_cast<double>(soak->peak_bytes)));
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

}  // namespace ocrtune
