#include "capacity/amounts.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr int kDay = 24 * 60;  // minutes

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

// "9", "09:30" -> minutes from midnight; "24" is the day's end.
std::optional<int> parse_clock(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const auto hour = parse_integer(parts[0]);
  const auto minute = parts.size() == 2 ? parse_integer(parts[1]) : Result<std::int64_t>(0);
  if (parts.size() > 2 || !hour || !minute || *hour < 0 || *minute < 0 || *minute > 59) {
    return std::nullopt;
  }
  const std::int64_t at = *hour * 60 + *minute;
  return at <= kDay ? std::optional<int>(static_cast<int>(at)) : std::nullopt;
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
  return factor * *value;
}

Result<DayPeak> parse_peak(const std::string& text) {
  const Error wrong{ErrorKind::usage,
                    "'" + text +
                        "': the peak over the day's mean, 1 or more, and when it is, like 3x or "
                        "'3x 9-11'"};
  std::string spaced = text;
  std::replace(spaced.begin(), spaced.end(), '@', ' ');
  const std::vector<std::string> parts = words(spaced);
  if (parts.empty() || parts.size() > 2) return wrong;
  std::string number = parts[0];
  if (ends_with(number, "x")) number.pop_back();
  const auto factor = parse_number(number);
  if (!factor || !std::isfinite(*factor) || *factor < 1) return wrong;
  DayPeak peak;
  peak.factor = *factor;
  if (parts.size() == 1) return peak;
  const std::vector<std::string> ends = split(parts[1], '-');
  if (ends.size() != 2) return wrong;
  const auto begins = parse_clock(ends[0]), until = parse_clock(ends[1]);
  if (!begins || !until || *begins == kDay || *begins == *until) return wrong;
  peak.begins_minute = *begins;
  peak.ends_minute = *until;
  return peak;
}

Result<DayProfile> profile_of_peak(const DayPeak& peak, double daily_requests) {
  const int long_minutes = (peak.ends_minute - peak.begins_minute + kDay) % kDay;
  const double share = peak.factor * long_minutes / kDay;
  if (share > 1) {
    return Error{ErrorKind::usage,
                 fmt::format("{:g} times the mean over {} would be {:.0f} % of the day's load: "
                             "at most {:.3g} times fit",
                             peak.factor, format_duration(60.0 * long_minutes), 100 * share,
                             static_cast<double>(kDay) / long_minutes)};
  }
  const double mean_rate = daily_requests / 86400;
  const double rest = mean_rate * (1 - share) * kDay / (kDay - long_minutes);
  DayProfile profile;
  profile.parts = {{peak.begins_minute, peak.factor * mean_rate}, {peak.ends_minute % kDay, rest}};
  std::sort(profile.parts.begin(), profile.parts.end(),
            [](const auto& a, const auto& b) { return a.begins_minute < b.begins_minute; });
  return profile;
}

}  // namespace ocrtune
