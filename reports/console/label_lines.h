// Lines of an answer on a terminal: a label in the margin, its text wrapped behind it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/catalogue/phrases.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"

namespace ocrtune {

// Lines of at most `columns`, where a piece is no longer than that.
std::vector<std::string> broken_lines(const std::string& text, int columns);

std::string in(const Bilingual& text, Language language);
// A sentence that stands in the catalogue, or has no translation.
std::string said(std::string_view english, Language language);

// Chinese text is broken between any two characters, text of ASCII between words.
class LabelLines {
 public:
  // A text that takes more than `max_columns` in all is cut; 0: none is.
  LabelLines(int width, bool colour, Language language, int max_columns = 0);

  // `label` is a phrase. Text of the machine carries no colour of its own. Empty text: no line.
  void add(std::string_view label, const std::string& text, Tone tone = Tone::neutral);
  void add(std::string_view label, const Bilingual& text, Tone tone = Tone::neutral) {
    add(label, in(text, language_), tone);
  }
  // Never broken: it is copied.
  void whole(std::string_view label, const std::string& text);
  // Badges behind the text, or below it where the terminal is narrow.
  void marked(std::string_view label, const std::string& text, const std::vector<Badge>& badges);
  void blank() { lines_.emplace_back(); }

  int count() const { return static_cast<int>(lines_.size()); }
  std::string text() const;
  Language language() const { return language_; }

 private:
  std::string paint(const std::string& text, const char* code) const;
  std::string margin(std::string_view label) const;
  void push(std::string_view label, const std::string& line, Tone tone);

  int columns_, max_columns_;
  bool colour_;
  Language language_;
  std::vector<std::string> lines_;
};

}  // namespace ocrtune
