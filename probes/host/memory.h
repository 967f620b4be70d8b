// How much memory may be used, and how: RAM, cgroup limits of every ancestor, /dev/shm, swap.
//
// MemTotal comes from /proc/meminfo, never from NUMA nodes. A cgroup's room is its limit less its
// working set (usage less inactive page cache). tmpfs pages count against the cgroup that first
// touched them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "probes/host/notes.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// Bandwidth stays empty: probes/host/bandwidth.h measures it.
MemoryFacts read_memory(const FileRoot& root, const Environment& environment, Notes& notes);

// Soft limits by name, from /proc/self/limits: {"open files", "1024"}, {"locked memory", "8 MiB"}.
std::vector<std::pair<std::string, std::string>> read_ulimits(const FileRoot& root, Notes& notes);

}  // namespace ocrtune
