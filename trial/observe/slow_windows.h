// Windows of a trial that are slow again and again: a loader that starts its workers anew at each
// epoch, a checkpoint, an evaluation. They are part of what a user gets in an hour, so a rate must
// hold as many of them as the time it speaks of.
#pragma once

#include <cstddef>
#include <vector>

namespace ocrtune {

struct Window {
  double samples = 0, seconds = 0;

  double samples_per_second() const { return samples / seconds; }
};

struct SlowWindows {
  int episodes = 0;           // runs of windows that are clearly slower than the usual one
  double period_seconds = 0;  // mean time from one's beginning to the next; 0: fewer than two
  double last_seconds = 0;    // when the latest one began, from the first window's begin
  // Windows [begin, end) make whole periods, from after the first episode to the end of the last;
  // all windows where there are fewer than three episodes.
  std::size_t begin = 0, end = 0;

  bool recur() const { return episodes >= 3; }
};

// Slower than the median by 15 % and by three robust deviations. Fewer than five windows: none are
// told apart.
SlowWindows find_slow_windows(const std::vector<Window>& windows);

}  // namespace ocrtune
