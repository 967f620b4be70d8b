// A team of plain threads, each pinned to one CPU.
//
// Measurements use these and not OpenMP: no environment variable can shrink or move them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace ocrtune {

// Calls work(index) once in one thread for each of `cpus`, pinned to it, and waits for all. A CPU
// that refuses the binding runs the work unpinned. The caller's own affinity is left alone. False:
// the system had no thread to spare, and nothing was done.
[[nodiscard]] bool run_pinned(const std::vector<int>& cpus,
                              const std::function<void(std::size_t)>& work);

// `count` of `cpus` that lie as far apart as their order allows: 4 of 16 are every fourth.
std::vector<int> spread_over(const std::vector<int>& cpus, std::size_t count);

// Seconds that the calling thread was runnable but waited for a CPU; negative when unknown.
double run_queue_wait_seconds();

}  // namespace ocrtune
