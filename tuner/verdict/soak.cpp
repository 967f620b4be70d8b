#include "tuner/verdict/soak.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "tuner/verdict/growth.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr const char* kSoakedFor = "soaked for ";
constexpr double kRecycleShare = 0.5;  // of the way to the limit

struct Soaked {
  double seconds = 0, bytes_per_second = 0, bytes = 0;
};

// What soak_words() wrote.
bool read_soak(const Trial& soak, Soaked& found) {
  for (const std::string& line : soak.evidence) {
    if (!starts_with(line, kSoakedFor)) continue;
    const auto parts = words(line);
    if (parts.size() < 9) return false;
    found.seconds = parse_number(parts[2]).value_or(0);
    found.bytes_per_second = parse_number(parts[5]).value_or(0);
    found.bytes = parse_number(parts[8]).value_or(0);
    return found.seconds > 0;
  }
  return false;
}

// Two digits, so that it reads like advice.
double rounded_down(double value) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(value)) - 1));
  return std::floor(value / unit) * unit;
}

}  // namespace

std::string soak_words(const Trial& soak) {
  if (soak.memory_trace.size() < 2) return "";
  const auto growth = growth_of_trial(soak);
  const MemoryPoint& last = soak.memory_trace.back();
  return fmt::format("{}{:.1f} s, grew {:.0f} bytes/s to {} bytes", kSoakedFor,
                     last.seconds - soak.memory_trace.front().seconds,
                     growth ? growth->per_second : 0.0, last.bytes);
}

Reason soak_reason(const std::vector<Trial>& soaks, const Knobs& knobs, std::uint64_t limit_bytes,
                   bool counts_requests) {
  const Trial* soak = latest_of(soaks, knobs);
  if (soak == nullptr) return {};
  Soaked found;
  if (!soak->ok() || !read_soak(*soak, found)) {
    return reason<ReasonCode::soak_failed>(in_seconds(soak->seconds), verbatim(soak->reason));
  }
  const double room = static_cast<double>(limit_bytes) - found.bytes;
  const bool grows = found.bytes_per_second > 0 && soak->samples_per_second > 0;
  if (!grows || limit_bytes == 0 || room <= 0) {
    return reason<ReasonCode::soak_steady>(in_seconds(found.seconds),
                                           in_bytes(static_cast<double>(soak->peak_bytes)));
  }
  const double seconds = room / found.bytes_per_second;
  const double often = kRecycleShare * seconds;
  const Number limit = in_bytes(static_cast<double>(limit_bytes));
  if (!counts_requests) {
    return reason<ReasonCode::soak_grows>(in_seconds(found.seconds),
                                          in_bytes(found.bytes_per_second), limit,
                                          in_seconds(seconds), in_seconds(often));
  }
  const double rate = soak->samples_per_second;
  return reason<ReasonCode::soak_grows_by_request>(
      in_seconds(found.seconds), in_bytes(found.bytes_per_second / rate), limit,
      counted(std::llround(std::floor(seconds * rate))), in_seconds(seconds),
      counted(std::llround(rounded_down(std::max(1.0, often * rate)))), in_seconds(often));
}

}  // namespace ocrtune
