// Which of the processes that I wait for still live? Asks the kernel by process descriptor, so a
// zombie counts as dead and a reused pid does not count as alive.
#pragma once

#include <string>
#include <vector>

namespace ocrtune {

class RankWatch {
 public:
  RankWatch() = default;
  ~RankWatch();
  RankWatch(RankWatch&&) = delete;

  // pids[i] is the process of rank i; the own pid is not watched.
  void watch(const std::vector<int>& pids);
  std::vector<int> dead_ranks() const;  // ascending; one system call

 private:
  std::vector<int> pids_;
  std::vector<int> descriptors_;  // -1: own, or a kernel without process descriptors
};

// The state letter of /proc/<pid>/stat in words: "stopped", "running", "gone"...
std::string process_state(int pid);
bool process_ended(int pid);  // gone, or a zombie

}  // namespace ocrtune
