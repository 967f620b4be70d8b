// A byte stream cut into lines. A progress bar's carriage return ends a line too; a line without an
// end is cut, so a flood costs no memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ocrtune {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_bytes = 64 << 10) : max_bytes_(max_bytes) {}

  // Calls `sink` for each whole line, without its end. Lines longer than max_bytes are cut there
  // and the rest is dropped. Empty lines are left out.
  void add(std::string_view bytes, const std::function<void(const std::string&)>& sink);
  const std::string& open_line() const { return line_; }  // begun, not ended

 private:
  std::size_t max_bytes_;
  std::string line_;
};

}  // namespace ocrtune
