// Whether a trial's answers were those of the user's present setting: a part of Trial.
//
// Counts are of answers; an input is one of the files that are sent, or one line of a command's
// text. The reference of an input is what the present setting answered when it was asked alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

// Why no text was compared; each has its words and a way out in the reports' catalogue.
enum class NotCompared {
  no,           // it was compared
  not_asked,    // this kind of workload shows no answers here
  no_text,      // the answers hold no text: name its path with same = [...]
  all_varies,   // whatever they hold differs between two askings of the same input
  all_alike,    // one text answers every input: an error, or a reader that reads nothing
  no_answers,   // a command printed or wrote nothing that the pattern or the files name
  no_reference  // the present setting gave no answer to compare with
};

std::string_view not_compared_name(NotCompared why);
NotCompared parse_not_compared(std::string_view name);  // of an unknown name: not_asked

// One input whose answers were not all like the reference.
struct InputDifference {
  std::int64_t input = 0;  // its index
  std::int64_t answers = 0;
  std::int64_t differing = 0;
  std::int64_t characters = 0;  // edits from the reference, mean of the differing answers
  // Edits from the true text, of the reference and of the differing answers; -1: no true text.
  std::int64_t reference_errors = -1;
  std::int64_t errors = -1;
};

struct AnswerExample {
  std::string input;  // its name
  std::string expected;
  std::string read;
};

struct SameResult {
  NotCompared not_compared = NotCompared::not_asked;
  std::int64_t inputs = 0;            // that were compared
  std::int64_t all_inputs = 0;        // that were sent
  std::int64_t answers = 0;           // compared, over all loads at which answers were right
  std::int64_t characters = 0;        // of the references of these inputs
  std::int64_t truth_characters = 0;  // of the true texts of these inputs; 0: there are none
  std::int64_t truth_errors = 0;      // edits from the true texts to the references
  std::vector<InputDifference> differing;
  std::vector<AnswerExample> examples;  // at most 3
  std::vector<std::string> left_out;    // paths that differ between two askings of one input
  // Requests in flight from which answers differ from those of the same setting with fewer in
  // flight; 0: at no load. The next three are of that load.
  std::int64_t wrong_in_flight = 0;
  std::int64_t wrong_answers = 0;
  std::int64_t wrong_of_answers = 0;
  std::int64_t swapped_answers = 0;  // that belong to another input, at any load
  // An input's second asking was answered so many times faster; 0: it was not, or is unknown.
  double repeat_speedup = 0;
  // The same computation at each asking, such as a network's on a line: where the present setting
  // repeats its texts, one that differs is the other setting's own.
  bool repeatable = false;
  bool varied = false;  // each request was a variant of its input, which no cache of results knows

  bool compared() const { return not_compared == NotCompared::no; }
  std::int64_t differing_inputs() const { return static_cast<std::int64_t>(differing.size()); }
};

}  // namespace ocrtune
