// A line of the file is told by its look: numbers, or a list in brackets whose elements are
// counted. The lists are JSON or Python's repr, so brackets and quotes are followed by hand.
#include "extras/capacity/page_lines.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// Both bound memory; guesses.
constexpr std::int64_t kMaxLines = 10000;  // of one page
constexpr std::size_t kMaxPages = 1000000;

// Elements of the list that begins at `text` and ends with it, in JSON's or Python's notation: as
// deep as the list that holds one page's results. -1: no such list.
std::int64_t elements_of(std::string_view text) {
  std::int64_t elements = 0;
  int depth = 0;
  bool waiting = true;  // for the next element of the outer list
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
      continue;
    }
    // An element begins with any sign of its own: "[]" and a comma at the end add none.
    if (depth == 1 && waiting && c != ' ' && c != ']' && c != ',') {
      ++elements;
      waiting = false;
    }
    if (c == '"' || c == '\'') quote = c;
    if (depth == 1 && c == ',') waiting = true;
    if (c == '[' || c == '{' || c == '(') ++depth;
    if ((c == ']' || c == '}' || c == ')') && --depth == 0) {
      return i + 1 == text.size() ? elements : -1;
    }
  }
  return -1;
}

// Pages, and the lines that each of them has.
struct Counted {
  std::int64_t lines = -1, pages = 1;
};

// -1 lines: neither numbers nor a page's results.
Counted count_of(const std::string& line) {
  const std::string text(trim(line));
  std::string numbers = text;
  std::replace(numbers.begin(), numbers.end(), ',', ' ');
  const auto fields = words(numbers);
  if (fields.empty()) return {};
  const auto lines = parse_integer(fields.front());
  const auto pages = parse_integer(fields.size() == 2 ? fields[1] : "1");
  if (lines && fields.size() <= 2) {
    const bool fine = pages && *lines >= 0 && *lines <= kMaxLines && *pages >= 0;
    return fine ? Counted{*lines, *pages} : Counted{};
  }
  const std::size_t list = text.find('[');
  if (list == std::string::npos) return {};
  return {elements_of(std::string_view(text).substr(list)), 1};
}

}  // namespace

Result<std::vector<int>> read_lines_per_page(const std::string& number_or_path) {
  if (!path_exists(number_or_path)) {
    const auto number = parse_integer(number_or_path);
    if (number && *number > 0 && *number <= kMaxLines) {
      return std::vector<int>{static_cast<int>(*number)};
    }
    return Error{ErrorKind::usage,
                 fmt::format("--lines-per-page '{}': neither a number from 1 to {} nor a file",
                             number_or_path, kMaxLines)};
  }
  const auto text = OCRTUNE_TRY(read_file(number_or_path));
  std::vector<int> pages;
  int at = 0;
  for (const std::string& line : split(text, '\n')) {
    ++at;
    if (trim(line).empty()) continue;
    const Counted found = count_of(line);
    if (found.lines < 0) {
      return Error{ErrorKind::invalid,
                   fmt::format("{}:{}: neither a number of lines (and one of pages) nor a page's "
                               "results ([...])",
                               number_or_path, at)};
    }
    const auto room = static_cast<std::int64_t>(kMaxPages - pages.size());
    if (found.lines > 0) {
      pages.insert(pages.end(), static_cast<std::size_t>(std::min(found.pages, room)),
                   static_cast<int>(found.lines));
    }
  }
  if (pages.empty()) {
    return Error{ErrorKind::invalid, number_or_path + " holds no page with a line of text"};
  }
  return pages;
}

}  // namespace ocrtune
