// Fills StageUse: the stages of a trial while it is measured.
//
// Looks cost at most 0.4 % of a CPU, by the CPU time that each one took: with more threads they
// come at longer intervals. Glances at the files of those that read take their part of it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/process_tree.h"
#include "trial/observe/interference.h"
#include "trial/stage_use.h"
#include "trial/stages/thread_looks.h"
#include "trial/stages/tree_counters.h"
#include "trial/trial.h"

namespace ocrtune {

class StageMeter {
 public:
  // The measuring begins. `left_out`: a process that asks the others and is not of the user's.
  // `given`: the command's environment; empty: what launchers set is of no interest.
  void begin(double now, const std::vector<ProcessFacts>& members, int left_out = 0,
             Environment given = {});
  // Looks if it is time to; nothing before begin().
  void look(double now, const std::vector<ProcessFacts>& members);
  // Of the threads' counters at both ends of a window, and of processes that came and went in it.
  void add_window(const LoadSnapshot& before, const LoadSnapshot& after);
  // All of it; what the log said and the rates are of these samples.
  StageUse use(const std::vector<Sample>& samples) const;

 private:
  struct ThreadTime {
    double run_seconds = 0, wait_seconds = 0;
  };

  void glance(double now);
  std::vector<ProcessFacts> seen_of(const std::vector<ProcessFacts>& members) const;
  void fill_threads(StageUse& use) const;
  double busy_share(double run_seconds, double wait_seconds) const;

  bool begun_ = false;
  int left_out_ = 0;
  double next_look_ = 0, next_count_ = 0, next_glance_ = 0;
  double glanced_ = 0;  // CPU time since the last look
  ThreadLooks looks_;
  TreeCounters counters_;
  double seconds_ = 0;  // of the windows
  double starts_ = 0;
  std::map<int, ThreadTime> threads_;
  std::map<int, std::shared_ptr<const CpuSet>> allowed_;  // by thread
};

// Rates in the order of the windows: of those that were not disturbed; where these are few, of all
// by their CPU time, which other load hardly changes.
std::vector<double> steady_rates(const std::vector<Sample>& samples);

// Mann and Kendall's test: pairs of windows of which the later one is slower, beyond chance.
bool falls_surely(const std::vector<double>& rates);

// Rates of the first and the last third of steady_rates(), and the share of data in a step.
void add_windows(const std::vector<Sample>& samples, StageUse& use);

}  // namespace ocrtune
