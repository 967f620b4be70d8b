// What the present setting answers to each input when it is asked alone, and which parts of an
// answer count: what differs between two askings of the same input is left out by itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trial/answers/answer_fields.h"
#include "trial/same_result.h"

namespace ocrtune {

// How the texts at one path are compared.
struct PathRule {
  std::string path;
  bool counts = true;      // false: they differ between most askings, or are times and ids that do
  bool unordered = false;  // their order differs between askings
  bool composed = false;   // their Unicode form does
};

struct InputReference {
  std::string body;                // empty: this input has no reference
  std::vector<std::string> texts;  // of `body`, those that count
  std::int64_t characters = 0;     // of the texts
  std::int64_t askings = 0;        // after the one that became the reference
  std::int64_t differing = 0;      // of those
};

class AnswerReference {
 public:
  AnswerReference() = default;
  // askings[i] are the answers to input i, asked one at a time; none: no reference. The reference
  // is the commonest one.
  static AnswerReference learn(const std::vector<std::vector<std::string>>& askings,
                               std::vector<std::string> same);

  NotCompared usable() const;  // `no`: some input has texts to compare
  // Of any answer, those that count, in the order in which they are compared.
  std::vector<std::string> texts_of(std::string_view body) const;
  bool counts(const std::string& path) const;

  const std::vector<InputReference>& inputs() const { return inputs_; }
  const std::vector<PathRule>& rules() const { return rules_; }
  const std::vector<std::string>& same() const { return same_; }

  std::string text() const;  // one line of JSON
  // invalid: it is none of ours.
  static Result<AnswerReference> parse(const std::string& text);

 private:
  void read_texts();
  bool answers_all_alike() const;  // several inputs with one text

  std::vector<std::string> same_;
  std::vector<PathRule> rules_;  // sorted by path
  std::vector<InputReference> inputs_;
};

}  // namespace ocrtune
