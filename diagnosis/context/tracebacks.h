// Follows Python's tracebacks line by line, also where several ranks write into one log.
//
// The line that ends one is an exception whatever its class is called ("queue.Empty",
// "TimeLimitExceeded(300,)"), and the frames above it say where it was raised.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

struct RaisedAt {
  // "data/lines.py:31", the last frame outside of installed packages; "train.py:158 (evaluating)".
  std::string place;
  std::string file;         // "config.py", the file of the very last frame
  std::optional<int> rank;  // "(most recent call last): (RANK 6)", told by another one
  bool ignored = false;  // Python goes on after it: raised where nobody could catch it, in __del__
  std::string library;   // "numpy", whose installed file the very last frame is of; empty: own code
};

class Tracebacks {
 public:
  // A line that holds Python's header of a traceback. `ignored`: "Exception ignored in" is above
  // it.
  void begin(std::string_view line, bool ignored = false);

  bool open() const { return !open_.empty(); }

  // Each line after a begin(). A value: the line is the exception that ends a traceback.
  std::optional<RaisedAt> take_line(std::string_view line);

 private:
  struct Traceback {
    std::string header;                 // before "Traceback"
    std::optional<std::string> prefix;  // what a logger puts before each line; none: no frame yet
    RaisedAt at;
    bool own_code = false;   // `at.place` is not in an installed package
    bool evaluates = false;  // a frame is of a function that evaluates or validates
    int foreign_lines = 0;   // since its last own line
  };
  void take_first_frame(std::string_view prefix);
  static void take_frame(std::string_view frame, Traceback& one);

  std::vector<Traceback> open_;
};

}  // namespace ocrtune
