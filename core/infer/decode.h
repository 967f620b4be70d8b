// From class logits to text, and how wrong it is.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ocrtune {

struct DecodedLine {
  std::vector<int> classes;  // without blanks; spelt by Alphabet::decode
  double confidence = 0;     // mean probability of the frames that were kept; 0 for an empty line
};

// Best path: the likeliest class of every frame, repeats merged, blanks (class 0) dropped.
// logits [steps, count, classes], as Trainer::logits gives them. Source: Graves et al. 2006, 3.2.
std::vector<DecodedLine> greedy_decode(std::span<const float> logits, int steps, int count,
                                       int classes);

// Insertions, deletions and substitutions that turn `a` into `b` (Levenshtein 1966).
int edit_distance(std::span<const int> a, std::span<const int> b);

// Sums over lines; rate = edits / length of the truth, the label error rate.
struct LabelErrors {
  std::int64_t edits = 0;
  std::int64_t length = 0;
  std::int64_t lines = 0;
  std::int64_t exact_lines = 0;

  void add(std::span<const int> read, std::span<const int> truth);
  void add_text(std::string_view read, std::string_view truth);  // by characters; UTF-8
  double rate() const;  // 0 for no lines; edits where every truth is empty
};

}  // namespace ocrtune
