// A small process that outlives this one by a moment: when this process is gone, by whatever end,
// it kills every process that carries this process's mark in its environment, every process that it
// was told of, and what these have started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ocrtune {

inline constexpr const char* kTreeVariable = "OCRTUNE_TREE";

// The mark of this process: children get kTreeVariable=<mark>.<anything>. Unique on this machine.
const std::string& process_mark();

// Starts the guard, once for this process; later calls do nothing. False: it could not be started.
bool start_orphan_guard();

struct GuardedProcess {
  int pid = 0;
  std::uint64_t start_ticks = 0;  // as /proc/<pid>/stat has it
};

// Processes that may have wiped their environment. Never blocks; without a guard nothing happens.
void tell_orphan_guard(const std::vector<GuardedProcess>& processes);

}  // namespace ocrtune
