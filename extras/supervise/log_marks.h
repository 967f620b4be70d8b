// How far the user's own logs went before an attempt, so that only what it added is diagnosed.
//
// A trainer may append to one log over all attempts: what an earlier one wrote there is no failure
// of this one. A file is known by its device and inode, for a log that is rotated keeps them under
// its new name. One that was cut or written anew counts as a whole.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/log_scan.h"

namespace ocrtune {

class LogMarks {
 public:
  // Marks the ends of these logs and of those in these folders, as they are now.
  explicit LogMarks(std::vector<std::string> paths);

  // What was written behind the marks; lines are numbered as in the whole file. Files that cannot
  // be read, or are none (FIFOs, devices), are left out.
  std::vector<LogScan> scan_added() const;

 private:
  using FileIdentity = std::pair<dev_t, ino_t>;
  struct Mark {
    std::uint64_t bytes = 0;
    double seconds = 0;  // of its last change
    std::string end;     // the last bytes before the mark
  };

  std::vector<std::string> paths_;
  std::map<FileIdentity, Mark> marks_;
};

}  // namespace ocrtune
