// The CPU time that this thread has used itself.
#pragma once

#include <ctime>

namespace ocrtune {

inline double thread_cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace ocrtune
