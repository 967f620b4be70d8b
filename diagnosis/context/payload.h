// What a line of an OCR program quotes, apart from what the program says of itself.
//
// Recognised text, predictions, ground truth, prompts, responses and JSON results may hold any
// words, screenshots of error messages among them. They are no events of the run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ocrtune {

// The line with its payload left out; nothing: it has none. Payload is the value of a key such as
// text, pred, gt, result or 识别结果; a string beside a score or an image's name; a line that is
// one quoted string; text between tags; what a line of level INFO or DEBUG quotes. Values of keys
// such as msg, message and error are the program's own.
std::optional<std::string> without_payload(std::string_view line);

// Several lines of payload behind a heading, such as "recognised text:", or of a test.
class PayloadBlock {
 public:
  // Each line in turn; `in_a_log`: a dated line is above it. True: it stands in an open block.
  bool take_line(std::string_view line, bool in_a_log);
  bool open() const { return lines_left_ > 0; }

 private:
  std::optional<bool> take_value(std::string_view line);

  int lines_left_ = 0;
  std::string_view end_;                  // "```", ">8" of scissors: only that ends it; else empty
  std::optional<bool> quotes_by_fences_;  // a log does; a report fences the log itself
  char quote_ = 0;                        // of a value that a line began and left open
  bool of_a_test_ = false;                // what pytest has captured of it: only a rule ends that
  bool labelled_ = false;                 // a line with a label in brackets ends it
  bool of_a_loop_ = false;                // the name of a file: the next one ends it, no prompt
  bool dated_ = false;  // the heading has a logger's prefix, so a line with one ends the block
};

}  // namespace ocrtune
