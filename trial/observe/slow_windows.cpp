// One pass over the windows marks runs of slow ones. Whole periods are cut from the end of the
// first episode to the end of the last one, so that each holds one slow run.
#include "trial/observe/slow_windows.h"

#include <algorithm>

#include "base/stats.h"

namespace ocrtune {
namespace {

constexpr std::size_t kLeast = 5;  // windows
constexpr double kClearly = 0.15;  // slower than the median
constexpr double kDeviations = 3;  // robust ones, below the median
constexpr int kForTwoPeriods = 3;  // episodes

}  // namespace

SlowWindows find_slow_windows(const std::vector<Window>& windows) {
  SlowWindows found;
  found.end = windows.size();
  if (windows.size() < kLeast) return found;
  std::vector<double> rates;
  for (const Window& window : windows) rates.push_back(window.samples_per_second());
  const double usual = median(rates);
  // The larger of the two: an even program has hardly any deviation, an uneven one much.
  const double below = std::max(kClearly * usual, kDeviations * median_absolute_deviation(rates));
  double now = 0, first_begin = 0;
  std::size_t first_end = 0, last_end = 0;
  bool slow = false;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const bool was = slow;
    slow = windows[i].samples_per_second() < usual - below;
    if (slow && !was) {
      ++found.episodes;
      found.last_seconds = now;
      if (found.episodes == 1) first_begin = now;
    }
    if (slow) {
      last_end = i + 1;
      if (found.episodes == 1) first_end = i + 1;
    }
    now += windows[i].seconds;
  }
  if (found.episodes >= 2) {
    // From the first beginning to the last one there is one period less than episodes.
    found.period_seconds = (found.last_seconds - first_begin) / (found.episodes - 1);
  }
  if (found.episodes >= kForTwoPeriods) {
    found.begin = first_end;
    found.end = last_end;
  }
  return found;
}

}  // namespace ocrtune
