// A log file that grows, read line by line as it does; it may appear late or never. What stood in
// it before is passed over; one that is cut or replaced is read from its begin.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "base/line_splitter.h"

namespace ocrtune {

class FileFollower {
 public:
  explicit FileFollower(std::string path);
  ~FileFollower();
  FileFollower(const FileFollower&) = delete;
  FileFollower& operator=(const FileFollower&) = delete;

  // Gives the lines written since the last call, at most 1 MiB of them. True: there was something.
  bool read(const std::function<void(const std::string&)>& sink);

 private:
  bool read_open(const std::function<void(const std::string&)>& sink);
  void open();  // where the path names another file than the one that is read

  std::string path_;
  struct stat earlier_ {};  // the file as it was found; st_ino 0: there was none
  int descriptor_ = -1;
  LineSplitter lines_;
};

}  // namespace ocrtune
