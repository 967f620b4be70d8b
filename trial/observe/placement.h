// Where workers were meant to run, were allowed to run and really ran.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"

namespace ocrtune {

struct Placement {
  int pid = 0;
  CpuSet meant;         // the mask that it was started with; empty: anywhere
  CpuSet allowed;       // Cpus_allowed_list of /proc/<pid>/status
  CpuSet seen_inside;   // sched_getcpu of every thread that worked
  CpuSet seen_outside;  // last CPU of every thread in /proc/<pid>/task
};

CpuSet allowed_cpus(int pid);    // empty when it is gone
CpuSet last_used_cpus(int pid);  // of all its threads; one reading

// What is wrong, in words, one line each: a mask that is not the one that was meant, a CPU used
// outside of it, and - where `exclusive` - a CPU that two workers may use or have used.
std::vector<std::string> placement_conflicts(const std::vector<Placement>& workers, bool exclusive);

}  // namespace ocrtune
