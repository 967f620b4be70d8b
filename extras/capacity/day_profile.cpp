// Rates of people's files become parts of a day or week in requests a second, sorted by time.
// Everything else is arithmetic over those parts, cyclic at midnight or at the week's end.
#include "extras/capacity/day_profile.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"
#include "extras/capacity/amounts.h"

namespace ocrtune {
namespace {

constexpr int kDayMinutes = 24 * 60;

struct RateUnit {
  const char* name;
  double seconds;
};
constexpr RateUnit kUnits[] = {{"s", 1},
                               {"sec", 1},
                               {"second", 1},
                               {"min", 60},
                               {"minute", 60},
                               {"h", 3600},
                               {"hr", 3600},
                               {"hour", 3600},
                               {"d", 86400},
                               {"day", 86400},
                               {"week", 7 * 86400},
                               {"month", 365 / 12.0 * 86400},
                               {"year", 365.0 * 86400}};

// "14:00", "9:30"; minutes from midnight.
std::optional<int> parse_time(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto hour = parse_integer(text.substr(0, colon));
  const auto minute = parse_integer(text.substr(colon + 1));
  if (!hour || !minute || *hour < 0 || *hour > 23 || *minute < 0 || *minute > 59) {
    return std::nullopt;
  }
  return static_cast<int>(*hour * 60 + *minute);
}

constexpr const char* kWeekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

struct Weekdays {
  int first = 0, last = 0;  // from 0: Monday
};

// "Mon", "Mon-Fri".
std::optional<Weekdays> parse_weekdays(const std::string& text) {
  const auto day = [](const std::string& name) {
    const auto* const found = std::find(std::begin(kWeekdays), std::end(kWeekdays), name);
    return static_cast<int>(found - std::begin(kWeekdays));
  };
  const std::size_t dash = text.find('-');
  const Weekdays days{day(text.substr(0, dash)),
                      day(dash == std::string::npos ? text : text.substr(dash + 1))};
  // A name that is no weekday is 7, the end of the list.
  if (days.first > days.last || days.last >= 7) return std::nullopt;
  return days;
}

int period_of(const DayProfile& profile) { return kDayMinutes * (profile.weekly ? 7 : 1); }

int minutes_of(const DayProfile& profile, std::size_t index) {
  const auto& parts = profile.parts;
  if (parts.size() == 1) return period_of(profile);
  const int next = parts[(index + 1) % parts.size()].begins_minute;
  return (next - parts[index].begins_minute + period_of(profile)) % period_of(profile);
}

// A rate that may be 0.
Result<double> parse_part_rate(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto value = parse_number(text.substr(0, slash));
  if (value && *value == 0) return 0.0;
  return parse_rate(text);
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
  return at <= kDayMinutes ? std::optional<int>(static_cast<int>(at)) : std::nullopt;
}

}  // namespace

Result<double> parse_rate(const std::string& text) {
  const auto wrong = [&](const char* want) {
    return Error{ErrorKind::usage, "'" + text + "': " + want};
  };
  const std::size_t slash = text.find('/');
  std::string unit = slash == std::string::npos ? "s" : text.substr(slash + 1);
  const std::size_t name = std::min(unit.find_first_not_of("0123456789"), unit.size());
  const auto units = name == 0 ? Result<std::int64_t>(1) : parse_integer(unit.substr(0, name));
  unit.erase(0, name);
  const auto* const found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                         [&](const RateUnit& row) { return unit == row.name; });
  if (found == std::end(kUnits) || !units || *units < 1) {
    return wrong("write it like 200, 12000/min, 300/5min, 1e6/h or 40k/day");
  }
  const auto value = OCRTUNE_TRY(parse_count(text.substr(0, slash)));
  return value / (static_cast<double>(*units) * found->seconds);
}

Result<double> parse_daily(const std::string& text) {
  if (text.find('/') == std::string::npos) return parse_count(text);
  return 86400 * OCRTUNE_TRY(parse_rate(text));
}

Result<DayProfile> read_day_profile(const std::string& path) {
  const auto text = OCRTUNE_TRY(read_file(path));
  DayProfile profile;
  std::size_t number = 0;
  for (std::string line : split(text, '\n')) {
    ++number;
    std::replace(line.begin(), line.end(), ',', ' ');
    std::vector<std::string> fields = words(line);
    if (fields.empty() || fields[0][0] == '#') continue;
    const auto wrong = [&](const std::string& why) {
      return Error{ErrorKind::invalid, fmt::format("{}:{}: {}", path, number, why)};
    };
    const auto days = parse_weekdays(fields[0]);
    if (days) fields.erase(fields.begin());
    if (fields.empty()) return wrong("wants a time and a rate after the weekday");
    const auto minute = parse_time(fields[0]);
    const bool heading = std::isalpha(static_cast<unsigned char>(fields[0][0])) != 0;
    // A heading, which a spreadsheet's export has.
    if (!minute && profile.parts.empty() && heading) continue;
    if (!minute) return wrong("'" + fields[0] + "' is no time of day like 14:00");
    if (fields.size() != 2) return wrong("wants a time and a rate, like '14:00 12000/min'");
    const auto rate = parse_part_rate(fields[1]);
    if (!rate) return wrong(rate.error().what);
    if (!profile.parts.empty() && profile.weekly != days.has_value()) {
      return wrong("weekdays stand before all times or before none");
    }
    profile.weekly = days.has_value();
    const Weekdays of = days.value_or(Weekdays{});
    for (int day = of.first; day <= of.last; ++day) {
      const int begins = day * kDayMinutes + *minute;
      for (const DayProfile::Part& part : profile.parts) {
        if (part.begins_minute == begins) {
          return wrong(time_in(profile, begins) + " stands there twice");
        }
      }
      profile.parts.push_back({begins, *rate});
    }
  }
  std::sort(profile.parts.begin(), profile.parts.end(),
            [](const auto& a, const auto& b) { return a.begins_minute < b.begins_minute; });
  if (profile.parts.empty() || busiest_part(profile).requests_per_second <= 0) {
    return Error{ErrorKind::invalid,
                 path + ": a day's profile needs lines like '14:00 12000/min', one above zero"};
  }
  return profile;
}

double daily_requests(const DayProfile& profile) {
  double requests = 0;
  for (std::size_t i = 0; i < profile.parts.size(); ++i) {
    requests += profile.parts[i].requests_per_second * 60 * minutes_of(profile, i);
  }
  return requests / (profile.weekly ? 7 : 1);
}

std::vector<double> rates_by_minute(const DayProfile& profile) {
  std::vector<double> rates(static_cast<std::size_t>(period_of(profile)));
  for (std::size_t i = 0; i < profile.parts.size(); ++i) {
    const DayProfile::Part& part = profile.parts[i];
    for (int minute = 0; minute < minutes_of(profile, i); ++minute) {
      rates[static_cast<std::size_t>(part.begins_minute + minute) % rates.size()] =
          part.requests_per_second;
    }
  }
  return rates;
}

DayProfile scale_to_day(DayProfile profile, double requests) {
  const double factor = requests / daily_requests(profile);
  for (DayProfile::Part& part : profile.parts) part.requests_per_second *= factor;
  return profile;
}

const DayProfile::Part& busiest_part(const DayProfile& profile) {
  OCRTUNE_CHECK(!profile.parts.empty());
  return *std::max_element(
      profile.parts.begin(), profile.parts.end(),
      [](const auto& a, const auto& b) { return a.requests_per_second < b.requests_per_second; });
}

std::string time_of_day(int minute) {
  return fmt::format("{:02}:{:02}", minute / 60 % 24, minute % 60);
}

std::string time_in(const DayProfile& profile, int minute) {
  if (!profile.weekly) return time_of_day(minute);
  return std::string(kWeekdays[minute / kDayMinutes % 7]) + " " + time_of_day(minute);
}

std::string time_of_day_at(double unix_seconds) {
  constexpr double kEarliest = 1e8, kLatest = 1e11;  // 1973 to 5138; a run's own clock is below
  if (unix_seconds < kEarliest || unix_seconds > kLatest) return "";
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return "";
  return time_of_day(local.tm_hour * 60 + local.tm_min);
}

std::string times_above(const DayProfile& profile, double requests_per_second) {
  const auto& parts = profile.parts;
  const auto above = [&](std::size_t i) {
    return parts[i % parts.size()].requests_per_second > requests_per_second;
  };
  std::vector<std::string> spans;
  bool ever = false, always = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ever = ever || above(i);
    always = always && above(i);
    if (!above(i) || above(i + parts.size() - 1)) continue;  // only where a span begins
    std::size_t last = i;
    while (above(last + 1)) ++last;
    spans.push_back(time_in(profile, parts[i].begins_minute) + " to " +
                    time_in(profile, parts[(last + 1) % parts.size()].begins_minute));
  }
  if (ever && always) return "all day";
  return join(spans, " and ");
}

Result<DayPeak> parse_peak(const std::string& text) {
  const Error wrong{ErrorKind::usage,
                    "'" + text +
                        "': the peak over the day's mean, 1 or more, and when it is, like 3x or "
                        "'3x 9-11'"};
  std::string spaced = text;
  std::replace(spaced.begin(), spaced.end(), '@', ' ');
  std::vector<std::string> parts = words(lower(spaced));
  if (parts.empty() || parts.size() > 2) return wrong;
  if (parts[0].find('-') != std::string::npos) std::reverse(parts.begin(), parts.end());
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
  if (!begins || !until || *begins == kDayMinutes || *begins == *until) return wrong;
  peak.begins_minute = *begins;
  peak.ends_minute = *until;
  return peak;
}

Result<DayProfile> profile_of_peak(const DayPeak& peak, double daily_requests) {
  const int long_minutes = (peak.ends_minute - peak.begins_minute + kDayMinutes) % kDayMinutes;
  // Of the day's load that comes within the peak.
  const double share = peak.factor * long_minutes / kDayMinutes;
  if (share > 1) {
    return Error{ErrorKind::usage,
                 fmt::format("{:g} times the mean over {} would be {:.0f} % of the day's load: "
                             "at most {:.3g} times fit",
                             peak.factor, format_duration(60.0 * long_minutes), 100 * share,
                             static_cast<double>(kDayMinutes) / long_minutes)};
  }
  const double mean_rate = daily_requests / 86400;
  const double rest = mean_rate * (1 - share) * kDayMinutes / (kDayMinutes - long_minutes);
  DayProfile profile;
  profile.parts = {{peak.begins_minute, peak.factor * mean_rate},
                   {peak.ends_minute % kDayMinutes, rest}};
  std::sort(profile.parts.begin(), profile.parts.end(),
            [](const auto& a, const auto& b) { return a.begins_minute < b.begins_minute; });
  return profile;
}

}  // namespace ocrtune
