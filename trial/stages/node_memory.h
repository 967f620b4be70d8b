// On which NUMA nodes the busiest process has its memory, and on which its threads run.
//
// The kernel walks the pages of each mapping for a line of /proc/<pid>/numa_maps, about 5 ms a GiB:
// it is read once, a part at each look. Sources: numa(7), proc(5).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "probes/host/memory_nodes.h"
#include "trial/stage_use.h"

namespace ocrtune {

// Bytes by node of one line of numa_maps; nothing of a mapping without pages in memory.
std::map<int, double> mapped_bytes(const std::string& line);

class NodeMemory {
 public:
  explicit NodeMemory(FileRoot root = FileRoot()) : root_(std::move(root)) {}

  // `pid`: of the process that ran most until now. Nothing on a machine with one node.
  void look(int pid);
  // remote_share: how much of the memory would have to move for each node to hold the share that
  // its threads have. Nothing before all of it was read, and of less than 64 MB.
  void fill(StageUse& use) const;

 private:
  void read_some();
  void count_threads();

  FileRoot root_;
  bool begun_ = false;
  std::vector<MemoryNode> nodes_;  // where there are several
  int pid_ = 0;
  Descriptor maps_;  // numa_maps of the process, until all of it was read
  std::string rest_;
  std::map<int, double> bytes_, threads_;  // by node
};

}  // namespace ocrtune
