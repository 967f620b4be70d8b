// What the processes of a trial read, wrote and faulted, and where they ran: counters of
// /proc/<pid>/{stat,io}, and what their launcher set for them (/proc/<pid>/environ); with it their
// files and the memory of the busiest one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/process_tree.h"
#include "trial/stage_use.h"
#include "trial/stages/node_memory.h"
#include "trial/stages/open_files.h"

namespace ocrtune {

class TreeCounters {
 public:
  // `given`: what the command was started with; empty: nobody asks what its processes have.
  explicit TreeCounters(FileRoot root = FileRoot(), Environment given = {})
      : root_(root), given_(std::move(given)), files_(root), nodes_(std::move(root)) {}

  // The first look is where the counting begins. Children that have ended and were waited for count
  // in their parents; what /proc/<pid>/io of another user hides counts nothing.
  void look(double now, const std::vector<ProcessFacts>& members);
  // Between looks, as often as it may cost: the files of the processes that read much.
  void glance() { files_.glance(); }
  void fill(StageUse& use) const;

 private:
  struct Sums {  // of a tree
    double cpu_seconds = 0, system_seconds = 0;
    double minor_faults = 0, major_faults = 0;
    double storage_bytes = 0, written_bytes = 0, read_bytes = 0;
  };

  void note_environment(const ProcessFacts& process);
  std::vector<LauncherVariable> launcher_set() const;
  int busiest() const;  // pid, of those that ran since the first look; 0: none

  FileRoot root_;
  Environment given_;
  bool begun_ = false;
  double begin_ = 0, last_ = 0;
  Sums before_, grown_;
  std::map<int, std::pair<double, double>> cpu_seconds_;  // by pid: at the first look, at the last
  std::map<int, int> looks_;                              // by pid: at its environment
  std::map<int, std::vector<LauncherVariable>> set_;      // by pid: other than given
  std::set<int> set_inside_;                              // of these, by the process itself
  std::map<int, double> read_bytes_;                      // by pid
  OpenFiles files_;
  NodeMemory nodes_;
};

}  // namespace ocrtune
