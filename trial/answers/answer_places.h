// Where a command's texts are, and how they become answers to inputs.
//
// A place is
//   regex:PATTERN    of a line of its output, with the groups input (a name), text or both. A line
//                    that names an input begins it; lines of text that follow belong to it
//   lines            each line of its output is a text, in no order
//   not:PATTERN      lines that are none of the others'
//   FILES            shell pattern of the files that it writes, {placeholders} included; a file's
//                    name is the input's, with its folders where the pattern leaves those
//                    open and not the name. FILES#PATH: of JSON, these strings alone
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace ocrtune {

inline constexpr std::size_t kKeptAnswers = 16;  // of a command, to one input

struct AnswerPlaces {
  struct Pattern {
    std::shared_ptr<const re2::RE2> compiled;
    int input = 0, text = 0;  // numbers of the groups; 0: there is none
  };
  std::vector<Pattern> patterns;
  std::vector<std::shared_ptr<const re2::RE2>> ignored;
  bool lines = false;
  std::vector<std::string> files;  // placeholders included
  std::vector<std::string> same;   // paths of JSON that count; empty: every string

  bool empty() const { return patterns.empty() && files.empty() && !lines; }

  // Several processes print at once, and no line is marked as one's: a line belongs to no input
  // that another line names.
  void part_lines();

  // usage: a pattern that does not compile, or has neither group.
  static Result<AnswerPlaces> parse(const std::vector<std::string>& places);
};

// What one trial answered: bodies (JSON) by input, and lines that name none.
struct CommandAnswers {
  std::vector<std::string> inputs;               // in the order in which they came
  std::vector<std::vector<std::string>> bodies;  // by input, in the order in which they came
  std::vector<std::vector<std::string>> passes;  // lines of each run of the command, the last open
  std::int64_t runs_ended = 0;
  bool json = false;  // some body is a file of the command's own JSON; others are {"text": [...]}
};

// Gathers the answers of one trial, with bounds: 20,000 inputs or lines, 16 answers to each.
class AnswerCollector {
 public:
  explicit AnswerCollector(const AnswerPlaces& places) : places_(places) {}

  void read_line(const std::string& line);  // as printed
  void end_run();                           // the command has ended, and may begin again
  // Files that match and were last changed from `begin` until `end`, in seconds since 1970. Without
  // errors: a file that cannot be read is no answer.
  void read_files(const std::vector<std::string>& patterns, double begin, double end);

  CommandAnswers take();

 private:
  // The answer that lines are being gathered for.
  struct Gathering {
    std::string input;
    bool open = false;
    std::vector<std::string> texts;
  };

  void add(const std::string& input, std::string body);
  void flush(Gathering& gathering);
  void keep(const std::string& text);
  void take(Gathering& gathering, const std::optional<std::string>& input,
            const std::optional<std::string>& text);

  const AnswerPlaces& places_;
  CommandAnswers answers_;
  std::map<std::string, std::size_t> index_;  // of an input
  std::size_t lines_ = 0;
  std::map<int, Gathering> gatherings_;  // by copy of the command, where lines are marked
};

}  // namespace ocrtune
