#include "capacity/page_lines.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::int64_t kMaxLines = 10000;  // of one page

// -1: the text is neither a number nor a page's results.
std::int64_t count_of(const std::string& text) {
  if (const auto number = parse_integer(trim(text))) {
    return *number >= 0 && *number <= kMaxLines ? *number : -1;
  }
  const std::size_t tab = text.find('\t');
  if (tab == std::string::npos) return -1;
  const auto results = nlohmann::json::parse(text.substr(tab + 1), nullptr, false);
  return results.is_array() ? static_cast<std::int64_t>(results.size()) : -1;
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
    const std::int64_t lines = count_of(line);
    if (lines < 0) {
      return Error{ErrorKind::invalid,
                   fmt::format("{}:{}: neither a number of lines nor a page's results "
                               "(page.png<TAB>[...])",
                               number_or_path, at)};
    }
    if (lines > 0) pages.push_back(static_cast<int>(lines));
  }
  if (pages.empty()) {
    return Error{ErrorKind::invalid, number_or_path + " holds no page with a line of text"};
  }
  return pages;
}

}  // namespace ocrtune
