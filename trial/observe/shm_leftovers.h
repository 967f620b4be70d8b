// Segments in /dev/shm that a killed trial leaves behind: only its own are removed.
//
// A file is a trial's own when it was not there before, belongs to this user, and either a process
// of the tree had it mapped or open to write, or its name is one that torch, paddle or joblib give
// with the pid of such a process in its place ("torch_4711_2"). In a container with process ids of
// its own names prove nothing: /dev/shm may be shared with others that have the same ids. What
// anybody has open, in whatever container, stays, and so do folders.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/process_tree.h"
#include "trial/observe/pid_namespace.h"

namespace ocrtune {

class ShmLeftovers {
 public:
  explicit ShmLeftovers(std::string folder = "/dev/shm");

  // Notes what the living members may write to: before they are ended.
  void look(const std::vector<ProcessFacts>& members);
  // Names in the folder that they might write to earlier.
  void add_used(const std::set<std::string>& names) { used_.insert(names.begin(), names.end()); }

  // A file, prefix or folder that the user named as his: what it names in the folder stays, unless
  // its name is one that a library gives.
  void keep(const std::string& path) { kept_.push_back(path); }

  struct Report {
    std::vector<std::string> removed;
    std::vector<std::string> left;  // new, but in use, or nothing proves whose
  };
  // Once the tree is gone. `pids`: all that ever belonged to it; `names_count`: whether pids in
  // names prove anything here.
  Report remove(const std::set<int>& pids, bool names_count = in_initial_pid_namespace()) const;

 private:
  std::string folder_;
  std::set<std::string> before_;
  std::set<std::string> used_;     // names in the folder
  std::vector<std::string> kept_;  // paths
};

// Removes segments of core/comm/shm_comm.h that are older than `min_age_seconds` and that nobody
// has open: the ranks of a launch that was killed as they met. Names are never used twice.
void remove_orphaned_segments(const std::string& folder = "/dev/shm", double min_age_seconds = 60);

}  // namespace ocrtune
