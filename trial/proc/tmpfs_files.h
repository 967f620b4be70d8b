// Memory that a trial's processes fill by writing files: on any tmpfs, and also once the files are
// closed. A data set that is unpacked to a RAM disk is in no process's PSS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trial/proc/shm_files.h"

namespace ocrtune {

class TmpfsFiles {
 public:
  TmpfsFiles();  // what lies in them by now is not the trial's

  const TmpfsPaths& paths() const { return paths_; }
  // Remembers what the processes have open to write, and the folders that it is in.
  void note(const std::vector<ShmFile>& open);
  // Of files that were written since the beginning and are not in `open`: those noted, and what
  // else was made in the same folders, unless everybody writes there (a sticky folder such as
  // /tmp). Forgets those noted that are gone: a loader makes a file for each batch.
  std::uint64_t closed_bytes(const std::vector<ShmFile>& open);
  std::size_t noted() const { return written_.size(); }  // files that are remembered
  // That the file took before the trial wrote to it.
  std::uint64_t bytes_before(const ShmFile& file) const;

 private:
  using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
  struct Written {
    std::string path;
    std::uint64_t before_bytes = 0;
  };

  TmpfsPaths paths_;
  double began_ = 0;  // seconds of the wall clock
  std::map<Identity, Written> written_;
  std::set<std::string> folders_;
};

}  // namespace ocrtune
