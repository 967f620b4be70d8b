// How long the processes of a trial that come and go (one for each page) could have run. What one
// of them waited for a CPU is lost when it ends: the kernel keeps a thread's wait as long as the
// thread, and tells a parent the CPU time of its children alone. So they are looked at while they
// live, some fifty times a second: a thread that can run either runs or waits.
#pragma once

#include <map>
#include <set>

#include "base/process_tree.h"

namespace ocrtune {

// Between two snapshots, of the processes that come and go: those that descend from one that stays
// and of which some have ended.
struct BriefLives {
  double looked_seconds = 0;  // that the looks speak for; 0: nobody looked
  // Thread seconds in which they could run, by the process that stays.
  std::map<int, double> runnable_seconds;
  std::map<int, double> ancestor_seconds;  // the same, of the first thread of the one that stays
  std::set<int> threads;                   // of those that have not ended
  // Of all that come and go: seconds of threads that were seen able to run at some time, from then
  // on, and the most threads at one look.
  double working_seconds = 0;
  int max_threads = 0;
  int starts = 0;  // of processes that were seen for the first time
};

class ShortLives {
 public:
  // What is in the tree stays. Looks come to nothing before.
  void begin(const ProcessTree& tree);
  // Looks if it is time to: every 20 ms while processes come and go, else every second; a look
  // never takes more than some 2 % of the time. Reads /proc/<pid>/task/<tid>/children, so on a
  // kernel without it (CONFIG_PROC_CHILDREN) nothing is seen.
  void look(double now);
  // Since begin() or the last call. Who is a member of the tree has not ended; the tree's scan()
  // should be fresh.
  BriefLives take(const ProcessTree& tree);

 private:
  struct Life {
    int ancestor = 0;
    double runnable_seconds = 0;
    std::set<int> threads = {}, worked = {};
    int windows = 0;  // that it has outlived
  };

  void visit(int pid, int ancestor, double seconds);

  std::set<int> staying_;
  std::map<int, Life> lives_;               // by pid
  std::map<int, double> ancestor_seconds_;  // by pid
  bool active_ = false;
  double working_ = 0;
  int threads_now_ = 0, max_threads_ = 0, starts_ = 0;
  double looked_ = 0, last_ = 0, next_ = 0;
};

}  // namespace ocrtune
