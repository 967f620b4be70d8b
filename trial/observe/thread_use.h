// How a trial's threads used the CPUs, from the counters at both ends of each window.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/process_tree.h"
#include "trial/observe/interference.h"
#include "trial/reason.h"
#include "trial/trial.h"

namespace ocrtune {

class ThreadUseMeter {
 public:
  // `cpu_seconds`: that the trial ran in the window. Windows without thread times are passed over.
  // A thread is busy if it ran for a twentieth of the window.
  void add_window(const LoadSnapshot& before, const LoadSnapshot& after, double cpu_seconds);
  void add_runtimes(const std::vector<ProcessFacts>& members);  // that these have loaded
  // The same while they run: of those that are gone at the trial's end. A few times for each.
  void look_at(const std::vector<ProcessFacts>& members);
  ThreadUse use() const;  // means over the windows, weighted by their length
  // Into the trial; its evidence names oversubscription of these CPUs. 0: it is no matter.
  void tell(Trial& trial, double cpus) const;

 private:
  std::set<std::string> runtimes_;
  std::map<int, int> looks_;  // by pid
  int alive_ = 0;
  double seconds_ = 0, busy_ = 0, ran_ = 0, runnable_ = 0, throttled_ = 0;
  double voluntary_ = 0, involuntary_ = 0;
};

// oversubscribed or throttled; empty: neither. `cpus`: those that the trial may use.
Reason crowding(const ThreadUse& use, double cpus);

}  // namespace ocrtune
