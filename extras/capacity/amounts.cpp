// Grouping commas are accepted only where they part thousands: "1,5" is more likely a decimal comma
// of another language and is refused.
#include "extras/capacity/amounts.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/text.h"

namespace ocrtune {
namespace {

// "40,000" -> "40000"; none: the commas do not part thousands.
std::optional<std::string> ungrouped(const std::string& text) {
  const std::vector<std::string> groups = split(text, ',');
  if (groups.size() == 1) return text;
  const auto digits = [](const std::string& group) {
    return !group.empty() && std::all_of(group.begin(), group.end(),
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool last = i + 1 == groups.size();
    const std::string whole = last ? split(groups[i], '.').front() : groups[i];
    if (!digits(whole) || whole.size() > 3 || (i > 0 && whole.size() != 3)) return std::nullopt;
  }
  return join(groups, "");
}

}  // namespace

Result<double> parse_count(const std::string& text) {
  const auto wrong = [&](const char* want) {
    return Error{ErrorKind::usage, "'" + text + "': " + want};
  };
  std::string number = text;
  double factor = 1;
  switch (number.empty() ? ' ' : number.back()) {
    case 'k':
    case 'K':
      factor = 1e3;
      break;
    case 'M':
      factor = 1e6;
      break;
    case 'G':
      factor = 1e9;
      break;
    default:
      break;
  }
  if (factor > 1) number.pop_back();
  const auto digits = ungrouped(number);
  if (!digits) return wrong("not a number; commas part thousands, like 40,000");
  const auto value = parse_number(*digits);
  if (!value || !std::isfinite(*value)) return wrong("not a number like 40000, 40,000 or 40k");
  if (*value <= 0) return wrong("must be above zero");
  if (factor * *value > 1e15) return wrong("1e15 is the most");
  return factor * *value;
}

}  // namespace ocrtune
