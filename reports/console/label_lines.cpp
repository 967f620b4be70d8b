// Text is broken by the columns that it takes on a terminal, not by bytes. Chinese has no blanks,
// so any two of its characters may be parted, unless a mark belongs to its neighbour.
#include "reports/console/label_lines.h"

#include <algorithm>

#include "base/text.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

// By ANSI sequences.
constexpr const char* tone_code(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "\x1b[32m";
    case Tone::warning:
      return "\x1b[33m";
    case Tone::bad:
      return "\x1b[31m";
    case Tone::neutral:
      break;
  }
  return "\x1b[36m";
}

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

// No line ends with an opening bracket, and none begins with a mark that closes something.
bool holds_together(std::string_view before, std::string_view after) {
  for (const std::string_view opening : {"(", "（", "“", "《", "「"}) {
    if (ends_with(before, opening)) return true;
  }
  for (const std::string_view closing :
       {"，", "。", "：", "；", "、", "）", "”", "》", "」", "！", "？", ")", ",", ";", ":", "."}) {
    if (starts_with(after, closing)) return true;
  }
  return false;
}

std::string shown(const std::string& text, int max_columns) {
  const std::string plain = plain_line(text);
  return max_columns > 0 ? cut_to_width(plain, max_columns) : plain;
}

}  // namespace

std::vector<std::string> broken_lines(const std::string& text, int columns) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = piece_end(text, at);
    // A mark is taken along with the piece that it belongs to.
    while (end < text.size() && text[end - 1] != ' ' &&
           holds_together(std::string_view(text).substr(at, end - at),
                          std::string_view(text).substr(end))) {
      end = piece_end(text, end);
    }
    // The blank behind a word takes no room at the end of a line: it is measured without.
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

LabelLines::LabelLines(int width, bool colour, Language language, int max_columns)
    : columns_(std::max(width, kLeastColumns) - kLabelColumns),
      max_columns_(max_columns),
      colour_(colour),
      language_(language) {}

void LabelLines::add(std::string_view label, const std::string& text, Tone tone) {
  const std::string plain = shown(text, max_columns_);
  if (plain.empty()) return;
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
  std::string line;
  int used = 0;
  const auto put = [&](const std::string& words, const char* gap, const char* code) {
    // Colour sequences take no columns, so the width is counted beside the line.
    if (used > 0 && used + display_width(gap + words) > columns_) {
      push(label, line, Tone::neutral);
      label = "";
      line.clear();
      used = 0;
    }
    const std::string before = used > 0 ? gap : "";
    line += before + paint(words, code);
    used += display_width(before + words);
  };
  for (const std::string& part : broken_lines(shown(text, max_columns_), columns_))
    put(part, " ", "\x1b[1m");
  for (const Badge& badge : badges) put(said(badge.text, language_), "  ", tone_code(badge.tone));
  push(label, line, Tone::neutral);
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
