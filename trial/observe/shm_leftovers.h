// Segments in /dev/shm that a killed trial leaves behind: only its own are removed.
//
// A file is a trial's own when it was not there before and either a process of its tree had it
// mapped or open, or its name carries the pid of such a process as a number of its own
// ("torch_4711_2", "paddle_4711_..."); and when no living process has it mapped.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/process_tree.h"

namespace ocrtune {

class ShmLeftovers {
 public:
  explicit ShmLeftovers(std::string folder = "/dev/shm");

  // Notes what the living members have mapped or open: before they are ended.
  void look(const std::vector<ProcessFacts>& members);

  struct Report {
    std::vector<std::string> removed;
    std::vector<std::string> left;  // new, but nothing proves whose
  };
  // Once the tree is gone. `pids`: all that ever belonged to it.
  Report remove(const std::set<int>& pids) const;

 private:
  std::string folder_;
  std::set<std::string> before_;
  std::set<std::string> used_;  // names in the folder
};

}  // namespace ocrtune
