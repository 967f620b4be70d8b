// Whether a library that LD_PRELOAD names is in the processes that do a trial's work.
//
// The loader drops the variable in silence for programs that are linked statically or change their
// user, and launchers may clear it: the trial would be of another setting than it says.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/process_tree.h"

namespace ocrtune {

class PreloadWatch {
 public:
  explicit PreloadWatch(const std::string& library);  // its path; empty: nothing is watched

  // Reads the maps of each: a program that another one is exchanged for (exec) is a new one.
  void look(const std::vector<ProcessFacts>& members);
  // Which program does without it, and why; empty: at least four fifths of the CPU time that was
  // seen are of processes that have it.
  std::string missed() const;

 private:
  using Identity = std::pair<int, std::uint64_t>;  // pid and start time
  struct Without {
    double cpu_seconds = 0;
    std::string program, why;
  };

  std::string file_;                 // its name, links followed
  std::map<Identity, double> seen_;  // CPU seconds of each process at the last look
  std::map<Identity, Without> without_;
  double cpu_seconds_ = 0;  // of all
};

}  // namespace ocrtune
