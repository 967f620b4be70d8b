// A table of four resources over one fit (tuner/verdict/growth.h). Each has a rise that it must
// show first, above what such a program allocates by and by.
#include "extras/supervise/growth_watch.h"

#include <algorithm>
#include <cstdint>

namespace ocrtune {
namespace {

constexpr double kMegabyte = 1048576;
constexpr std::size_t kSubjects = 4;
constexpr double kSettleSeconds = 30;  // after the first step: caches, pools, loaders' queues
constexpr double kMinSeconds = 60;     // that a slope is watched before it forecasts anything

}  // namespace

struct GrowthWatch::Watched {
  GrowthSubject subject;
  double value, limit;  // limit 0: unknown
  double min_rise;
};

GrowthWatch::GrowthWatch(std::uint64_t memory_limit_bytes, double planned_seconds)
    : memory_limit_(static_cast<double>(memory_limit_bytes)),
      planned_seconds_(planned_seconds),
      traces_(kSubjects) {}

std::vector<GrowthWatch::Warning> GrowthWatch::look(const AttemptStatus& status) {
  const auto real = [](auto number) { return static_cast<double>(number); };
  double limit = memory_limit_;
  if (status.available_bytes > 0) {
    // What the run holds and what is left: all that it can ever have.
    const double machine = real(status.bytes) + real(status.available_bytes);
    limit = limit > 0 ? std::min(limit, machine) : machine;
  }
  // Least rises: 64 MiB, a tenth of /dev/shm if that is less, 20 files or 5 %, 256 MiB; guesses.
  const Watched all[kSubjects] = {
      {{"memory", true}, real(status.bytes), limit, 64 * kMegabyte},
      {{"/dev/shm", true},
       real(status.shm_bytes),
       real(status.shm_limit_bytes),
       std::min(64 * kMegabyte, 0.1 * real(status.shm_limit_bytes))},
      {{"number of open files", false},
       real(status.open_files),
       real(status.open_files_limit),
       std::max(20.0, 0.05 * real(status.open_files_limit))},
      {{"GPU memory", true}, real(status.gpu_bytes), real(status.gpu_limit_bytes), 256 * kMegabyte},
  };
  const double settle = std::max(0.0, status.first_progress_seconds) + kSettleSeconds;
  const double planned =
      planned_seconds_ > 0 ? std::max(planned_seconds_ - status.seconds, 1.0) : 0;
  std::vector<Warning> warnings;
  for (std::size_t i = 0; i < kSubjects; ++i) {
    const Watched& one = all[i];
    if (one.limit <= 0 || one.value <= 0) continue;
    traces_[i].add(status.seconds, one.value);
    const auto growth = fit_growth(traces_[i].points(), settle);
    if (!growth || growth->seconds < kMinSeconds) continue;
    if (i == 0) {
      memory_ = GrowthEvidence{growth->per_second, growth->low, growth->high, growth->seconds};
    }
    const auto forecast = forecast_growth(*growth, one.limit, planned, one.min_rise, one.subject);
    if (forecast.alarm) {
      warnings.push_back({one.subject.name, forecast.words, forecast.seconds_left});
    }
  }
  std::stable_sort(warnings.begin(), warnings.end(), [](const Warning& a, const Warning& b) {
    return a.seconds_left < b.seconds_left;
  });
  return warnings;
}

}  // namespace ocrtune
