// A log file that grows, read line by line as it does; it may appear late or never.
#pragma once

#include <functional>
#include <string>

#include "base/line_splitter.h"

namespace ocrtune {

class FileFollower {
 public:
  explicit FileFollower(std::string path) : path_(std::move(path)) {}
  ~FileFollower();
  FileFollower(const FileFollower&) = delete;
  FileFollower& operator=(const FileFollower&) = delete;

  // Gives the lines written since the last call, at most 1 MiB of them. True: there was something.
  bool read(const std::function<void(const std::string&)>& sink);

 private:
  std::string path_;
  int descriptor_ = -1;
  LineSplitter lines_;
};

}  // namespace ocrtune
