// Threads that work together, or not at all.
#pragma once

#include <cstddef>
#include <functional>

namespace ocrtune {

// Calls work(index) once in each of `count` threads of its own and waits for all. No work begins
// before every thread has been made, so `work` may hold barriers for `count`. False: the system had
// no thread to spare (pids.max, ulimit -u), and nothing was done.
[[nodiscard]] bool run_team(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace ocrtune
