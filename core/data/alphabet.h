// The characters that a model can spell, and text as class indexes: class 0 is the CTC blank,
// class i + 1 is character i.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// Code points, in order, each as its UTF-8 bytes. invalid: not UTF-8.
Result<std::vector<std::string>> split_characters(std::string_view text);

// The dictionary beside a checkpoint.
std::string alphabet_path(const std::string& checkpoint);

class Alphabet {
 public:
  Alphabet() = default;

  // The distinct characters of the text in order of first appearance. usage: none, or not UTF-8.
  static Result<Alphabet> from_text(std::string_view text);
  // "digits", "alnum" (0-9a-z, as PaddleOCR's English dictionary), or the characters themselves.
  // usage: what reads as the path of a file that is not there.
  static Result<Alphabet> from_name(std::string_view name_or_text);
  // A dictionary file with one character a line, as PaddleOCR's; a last line may be a blank.
  static Result<Alphabet> load(const std::string& path);

  const std::vector<std::string>& characters() const { return characters_; }
  int classes() const { return static_cast<int>(characters_.size()) + 1; }
  std::string text() const;       // all characters, in order
  std::string file_text() const;  // as load() reads it

  // invalid: names the first character that is not in the alphabet.
  Result<std::vector<int>> encode(std::string_view text) const;
  std::string decode(const std::vector<int>& classes) const;  // blanks and strangers are left out

 private:
  std::vector<std::string> characters_;
  std::unordered_map<std::string, int> classes_;
};

}  // namespace ocrtune
