// What else the machine did while a trial was measured.
//
// Two snapshots of counters make one Interference; judging it is a pure function. Thresholds
// (`InterferenceLimits`) come from measurements on a 2-CPU machine: a neighbour that took 1.4 cores
// cost a barrier-bound trainer a factor of five, while 0.05..0.10 CPU of other load stayed within
// the machine's own noise; steal stayed 0 all the while, so it alone proves nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/files.h"
#include "base/process_tree.h"
#include "trial/observe/short_lives.h"
#include "trial/proc/thread_mask.h"
#include "trial/trial.h"

namespace ocrtune {

// Of one thread since it was born.
struct ThreadCounters {
  double run_seconds = 0, wait_seconds = 0;  // on a CPU, and waiting for one
  double voluntary_switches = 0, involuntary_switches = 0;
  std::shared_ptr<const CpuSet> allowed = nullptr;  // CPUs that it may use; null: not known
};

struct LoadSnapshot {
  double seconds = 0;            // of a monotonic clock
  double busy_cpu_seconds = 0;   // all CPUs of the machine: user, nice, system, interrupts
  double total_cpu_seconds = 0;  // busy, idle and stolen
  double stolen_cpu_seconds = 0;
  double tree_cpu_seconds = 0;  // of the tree's processes, ended ones included
  double own_cpu_seconds = 0;   // the tree's, and this process's (which watches)
  CpuSeconds busy_by_cpu;       // the same as busy_cpu_seconds; empty: not known by CPU
  std::shared_ptr<const CpuSet> watcher_allowed;  // CPUs that this process may use
  double pressure_seconds = 0;                    // PSI cpu "some"; stays 0 where there is none
  double throttled_seconds = 0;                   // of our own control groups
  std::uint64_t swapped_pages = 0;
  bool has_thread_times = false;          // /proc/<pid>/task/<tid>/schedstat is there
  std::map<int, ThreadCounters> threads;  // by tid
  BriefLives brief;                       // since the snapshot before; not read here
};

// Reads /proc through `root`, except the members' own counters, which are live. The tree's scan()
// should be fresh. About 20 us for each thread of the tree. `beside`: a server of somebody else's
// that is measured; its work counts as the tree's.
LoadSnapshot take_load_snapshot(const FileRoot& root, const ProcessTree& tree, double now_seconds,
                                const std::vector<ProcessFacts>& beside = {});

// What the trial may use, so that its own waiting is not blamed on others.
struct LoadDemand {
  double threads = 1;                     // compute threads and loader workers of all ranks
  double cpus = 1;                        // usable CPUs, quota included
  const SmtSiblings* siblings = nullptr;  // of the machine; null: no CPUs share a core
};

// external: CPUs used by others, of those that the tree's threads may use and their siblings; above
// 1 % of these and 0.1 CPU, plus the resolution of /proc/stat (half a tick for each CPU, as
// independent errors).
// lost: share of the tree's threads' time spent waiting for a CPU that others had.
// max_lost: of the wall time. A tree that sleeps loses nothing to load on its CPUs: below it
// neither of the two is asked.
struct InterferenceLimits {
  double external_cpus = 0.10;
  double external_share = 0.01;
  double lost_share = 0.05;
  double max_lost = 0.01;
  double pressure_share = 0.20;   // only where there are no thread times
  double throttled_share = 0.02;  // only where demand is within the quota
  double steal_share = 0.02;
};

Interference interference_between(const LoadSnapshot& before, const LoadSnapshot& after,
                                  const LoadDemand& demand,
                                  const InterferenceLimits& limits = InterferenceLimits());

}  // namespace ocrtune
