// One line on a terminal that says how far long work is and how long it will still take.
#pragma once

#include <cstdint>
#include <string>

namespace ocrtune {

// Writes to standard error, a few times a second, and only where that is a terminal.
class Progress {
 public:
  Progress(std::string title, std::int64_t total);  // "drawing"
  ~Progress();                                      // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done, const std::string& remark = "");

 private:
  std::string title_;
  std::int64_t total_;
  bool terminal_;
  bool shown_ = false;
  double started_, last_ = -1;
};

}  // namespace ocrtune
