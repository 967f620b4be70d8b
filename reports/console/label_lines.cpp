#include "reports/console/label_lines.h"

#include <algorithm>

#include "base/text.h"
#include "reports/catalogue/plain_text.h"
#include "reports/console/tone_code.h"

namespace ocrtune {
namespace {

constexpr int kLabelColumns = 9, kLeastColumns = 30;

// A character of UTF-8 at `at`, or a word of ASCII: where a line may be broken.
std::size_t piece_end(const std::string& text, std::size_t at) {
  std::size_t end = at + 1;
  if ((static_cast<unsigned char>(text[at]) & 0x80) == 0) {
    while (end < text.size() && text[end - 1] != ' ' &&
           (static_cast<unsigned char>(text[end]) & 0x80) == 0) {
      ++end;
    }
    return end;
  }
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end;
}

}  // namespace

std::vector<std::string> broken_lines(const std::string& text, int columns) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = piece_end(text, at);
    const std::string piece = text.substr(at, end - at);
    if (!line.empty() && display_width(line + std::string(trim(piece))) > columns) {
      lines.emplace_back(trim(line));
      line.clear();
    }
    line += piece;
    at = end;
  }
  lines.emplace_back(trim(line));
  return lines;
}

std::string in(const Bilingual& text, Language language) {
  return language == Language::english ? text.english : text.chinese;
}

std::string said(std::string_view english, Language language) {
  return language == Language::english ? std::string(english) : chinese_of(english);
}

LabelLines::LabelLines(int width, bool colour, Language language, int max_lines)
    : columns_(std::max(width, kLeastColumns) - kLabelColumns),
      max_lines_(max_lines),
      colour_(colour),
      language_(language) {}

void LabelLines::add(std::string_view label, const std::string& text, Tone tone) {
  std::string plain = plain_line(text);
  if (plain.empty()) return;
  if (max_lines_ > 0) plain = cut_to_width(plain, max_lines_ * columns_);
  for (const std::string& line : broken_lines(plain, columns_)) {
    push(label, line, tone);
    label = "";
  }
}

void LabelLines::whole(std::string_view label, const std::string& text) {
  push(label, plain_line(text, 65536), Tone::neutral);
}

void LabelLines::marked(std::string_view label, const std::string& text,
                        const std::vector<Badge>& badges) {
  std::string line = margin(label) + paint(plain_line(text), "\x1b[1m");
  for (const Badge& badge : badges) {
    line += "  " + paint(said(badge.text, language_), tone_code(badge.tone));
  }
  lines_.push_back(line);
}

std::string LabelLines::text() const { return join(lines_, "\n") + "\n"; }

std::string LabelLines::paint(const std::string& text, const char* code) const {
  return colour_ ? code + text + "\x1b[0m" : text;
}

std::string LabelLines::margin(std::string_view label) const {
  std::string cell = label.empty() ? "" : in(phrase(label), language_);
  // A label that fills the margin stands apart from its text all the same.
  const int pad = std::max(cell.empty() ? 0 : 1, kLabelColumns - display_width(cell));
  cell += std::string(static_cast<std::size_t>(pad), ' ');
  return colour_ && !label.empty() ? "\x1b[2m" + cell + "\x1b[0m" : cell;
}

void LabelLines::push(std::string_view label, const std::string& line, Tone tone) {
  lines_.push_back(margin(label) + (tone == Tone::neutral ? line : paint(line, tone_code(tone))));
}

}  // namespace ocrtune
