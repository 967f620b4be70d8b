// How many CPUs may be used: the least of everything that limits, each with its name.
//
// nproc, sched_getaffinity, omp_get_num_procs and hwloc all miss CPU-time quotas, and eight threads
// in a quota of four ran 45 times slower than four; so quotas of every ancestor cgroup are read.
#pragma once

#include <vector>

#include "base/cpu_set.h"
#include "base/environment.h"
#include "base/files.h"
#include "probes/host/notes.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct CpuLimits {
  CpuSet allowed;             // affinity and cpuset, less isolated CPUs
  Fact<double> usable;        // may be a fraction: a quota of 1.5
  std::vector<Limit> limits;  // ascending
};

// `online` may be empty (unknown). With a live root the affinity is that of this process, else what
// the saved /proc/self/status says.
CpuLimits read_cpu_limits(const FileRoot& root, const Environment& environment,
                          const CpuSet& online, Notes& notes);

// What a batch system granted on this node, in CPUs; nothing outside a job. Slurm, PBS, LSF.
std::vector<Limit> batch_grants(const Environment& environment);

}  // namespace ocrtune
