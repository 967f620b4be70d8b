#include "cli/tune/value_list.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::int64_t kMaxRange = 64;  // more are hardly meant, and more than a search can try

Error list_error(const std::string& flag, const std::string& text, const std::string& what) {
  return {ErrorKind::usage, fmt::format("{} '{}': {}", flag, text, what)};
}

}  // namespace

Result<std::vector<std::string>> read_value_list(const std::string& flag, const std::string& text,
                                                 bool counts) {
  std::vector<std::string> values;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) {
      return list_error(flag, text, "an empty value; write values as 1,2,4 without blanks");
    }
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_integer(part.substr(dash + 1));
    if (!counts || dash == std::string::npos || !first || !last) {
      values.push_back(part);
      continue;
    }
    if (*last < *first) return list_error(flag, text, "the range falls; write it as 1-4");
    if (*last - *first >= kMaxRange) {
      return list_error(flag, text,
                        fmt::format("a range of more than {} numbers; name those to try, such as "
                                    "1,2,4,8",
                                    kMaxRange));
    }
    for (std::int64_t value = *first; value <= *last; ++value) {
      values.push_back(fmt::format("{}", value));
    }
  }
  return values;
}

}  // namespace ocrtune
