// Which files in memory a set of processes has open or mapped, and what they take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/process_tree.h"
#include "trial/proc/tmpfs_mounts.h"

namespace ocrtune {

struct ShmFile {
  std::string name;  // in the folder; empty: it has no name there any more, or never had one
  std::string path;  // empty: it has no name any more
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;  // allocated, by whomever
  bool mapped = false;      // by one of the processes
  bool writable = false;    // ... or open, so that it may write; what it only reads is another's
};

// Regular files below `folder` and anonymous ones (memfd), each once; of other file systems in
// memory, those that a process may write. `maps`: also looks through
// the mappings of each process (about 1 ms for a thousand), not only at its descriptors. What
// another user's process has open cannot be seen without privileges.
std::vector<ShmFile> used_shm_files(const std::vector<ProcessFacts>& members,
                                    const std::string& folder = "/dev/shm", bool maps = true,
                                    const TmpfsPaths& others = TmpfsPaths());

}  // namespace ocrtune
