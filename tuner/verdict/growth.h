// Does memory grow, how fast, and when does it meet the limit? From a trace, as pure functions.
//
// The trace is cut into windows and each window speaks through its lowest point, so that an
// allocator's sawtooth or a queue that fills and drains is no growth. The slope is the median of
// the slopes between all pairs of windows, with the interval of Sen (1968): a few odd windows do
// not move it. What happens before `settle` seconds (caches, first batches) is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trial/reason.h"
#include "trial/trial.h"

namespace ocrtune {

struct TracePoint {
  double seconds = 0;
  double value = 0;  // bytes, descriptors, ...
};

struct Growth {
  double per_second = 0, low = 0, high = 0;  // slope with its 95 % interval
  double seconds = 0;                        // watched
  double rise = 0;                           // over that time, by the slope
  double recent_low = 0;                     // the same slope of the last half alone, its lower end
  double now = 0;                            // level of the last window

  // It grows, and has not come to an end meanwhile: a start or a ramp that is over forecasts
  // nothing.
  bool certain() const { return low > 0 && recent_low > per_second / 4; }
};

// Empty below 8 points after settling, or when they span no time.
std::optional<Growth> fit_growth(const std::vector<TracePoint>& trace, double settle_seconds = 0);

struct GrowthForecast {
  bool alarm = false;
  double seconds_left = 0;          // to the limit, by the slope; infinite when it does not grow
  double earliest = 0, latest = 0;  // by the ends of its interval
  std::string words;                // "grows by 1.2 MiB/s (1.1..1.3): 5 h 10 min left of ..."
};

// What grows, for the words: bytes, or a plain number of things.
struct GrowthSubject {
  std::string name = "memory";
  bool bytes = true;
};

// Alarms when growth is certain, has reached `min_rise`, and meets the limit within the planned
// time (0: unknown, then within 24 h).
GrowthForecast forecast_growth(const Growth& growth, double limit, double planned_seconds,
                               double min_rise, const GrowthSubject& subject = {});

// A trace of bounded length: when full, each two neighbours become one that keeps the lower value.
class GrowthTrace {
 public:
  explicit GrowthTrace(std::size_t max_points = 1024) : max_points_(max_points) {}
  void add(double seconds, double value);
  const std::vector<TracePoint>& points() const { return points_; }

 private:
  std::size_t max_points_;
  std::size_t stride_ = 1, waiting_ = 0;
  TracePoint lowest_;
  std::vector<TracePoint> points_;
};

// Does a trial's memory grow while it measures? From its trace; a trial is short, so the slope is
// that of the last two thirds. Not certain when the rise is too small to tell from an allocator's
// first rounds.
MemoryGrowth memory_growth(const Trial& trial);
// When such growth meets the limit (0: what the machine has left), in words.
GrowthForecast forecast_trial(const MemoryGrowth& growth, std::uint64_t limit_bytes);

// False: what rose by less, or was watched for less, may be a heap that still fills, as those of
// Node and Go do until they collect.
bool is_surely_a_leak(const MemoryGrowth& growth);

// Not empty when memory grew in most trials of a setting: one alone may be chance.
Reason repeated_growth(const std::vector<Trial>& trials, const Knobs& knobs,
                       std::uint64_t limit_bytes);

}  // namespace ocrtune
