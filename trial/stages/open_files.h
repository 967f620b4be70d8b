// The files that a trial's processes have open for reading: all descriptors at intervals, and
// between these the next free descriptors of those that read much. A loader opens each picture for
// less than a millisecond, under the lowest number that is free.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "trial/stage_use.h"

namespace ocrtune {

class OpenFiles {
 public:
  explicit OpenFiles(FileRoot root = FileRoot()) : root_(std::move(root)) {}

  // All descriptors of a process; about 5 us for each. `reads_much`: glance() is of it, too, until
  // the next look.
  void look(int pid, bool reads_much);
  // Those of other processes make room for others.
  void forget_others(const std::set<int>& alive);
  // About 30 us of one of those that read much, at most 16 of them in turn; nothing once enough
  // files were seen so.
  void glance();
  // Sizes with those of the files of their ending beside them, where two were seen or one at a
  // glance: what a program of many files reads. Lists their folders, so it is for a trial's end.
  void fill(StageUse& use) const;

 private:
  struct Reader {
    Descriptor folder;       // of its descriptors
    std::set<int> standing;  // open at the last look
  };

  void note(const std::string& path, bool at_a_glance);

  FileRoot root_;
  std::map<int, Reader> readers_;
  int next_ = 0;  // pid of the reader whose turn it is
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> files_;  // bytes by identity
  std::vector<std::string> paths_;                                          // of these
  std::set<std::string> brief_;                                             // of these
};

}  // namespace ocrtune
