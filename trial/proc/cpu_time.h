// CPU time: the kernel's ticks of /proc/<pid>/stat, and what this thread has used itself.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace ocrtune {

inline double tick_seconds(std::uint64_t ticks) {
  static const auto kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(ticks) / kTicks;
}

inline double thread_cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace ocrtune
