// The lines that a command prints, where no line names its input: compared as a set, by the passes
// of the command over its inputs.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "trial/answers/answer_places.h"
#include "trial/same_result.h"

namespace ocrtune {

class LineSet {
 public:
  // Whole passes of the present setting: a line that is not in them may be of an input that was not
  // reached. What differs between them in digits alone (times, rates) is left
  // out; until there are two passes, so is every line with a digit.
  void learn(const CommandAnswers& answers);
  std::size_t passes() const { return passes_.size(); }

  // Of whole passes the lines that lack or are new; of one that was ended, those that are new.
  SameResult compare(const CommandAnswers& answers) const;

 private:
  using Lines = std::set<std::string>;
  static std::vector<Lines> units_of(const CommandAnswers& answers, bool open);
  bool counts(const std::string& line) const;
  struct Counts;
  void compare_pass(const Lines& pass, bool whole, Counts& counts, SameResult& result) const;

  std::vector<Lines> passes_;
  std::int64_t ended_ = 0;          // runs of the present setting, whatever they printed
  Lines varying_;                   // forms of lines, with "#" for digits
  std::vector<std::string> lines_;  // that count; sorted
};

}  // namespace ocrtune
