// Times as strptime reads them, in local time; and the draw of one job's end, attempt by attempt:
// start, work, checkpoints, an interruption at an exponential time.
#include "extras/capacity/deadline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr int kMaxAttempts = 5000;  // of one draw

// The whole text by one of strptime's formats.
bool parse_as(const char* format, const std::string& text, std::tm& time) {
  const char* const end = ::strptime(text.c_str(), format, &time);
  return end != nullptr && *end == '\0';
}

std::string calendar_text(std::time_t at) {
  std::tm local{};
  ::localtime_r(&at, &local);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local)};
}

// Jeffreys' posterior of a Poisson count: a gamma variable of shape `seen` + 1/2.
double draw_gamma(double seen, Random& random) {
  if (seen > 200) {  // Wilson and Hilferty 1931
    const double shape = seen + 0.5;
    const double root = 1 - 1 / (9 * shape) + random.normal() / (3 * std::sqrt(shape));
    return shape * std::pow(std::max(root, 0.0), 3);
  }
  const double z = random.normal();
  // A gamma of shape 1/2, and an exponential for each one that was seen.
  double sum = 0.5 * z * z;
  for (int i = 0; i < static_cast<int>(seen); ++i) sum += random.exponential(1);
  return sum;
}

}  // namespace

Result<Deadline> parse_deadline(const std::string& text, std::int64_t now_unix) {
  if (const auto duration = parse_duration(text)) return Deadline{*duration, ""};
  const auto now = static_cast<std::time_t>(now_unix);
  std::tm today{}, read{};
  ::localtime_r(&now, &today);
  std::tm due = today;
  int period_days = 0;  // 0: a day of the calendar
  if (parse_as("%H:%M", text, read)) {
    period_days = 1;
  } else if (parse_as("%a %H:%M", text, read = {})) {
    due.tm_mday += (read.tm_wday - today.tm_wday + 7) % 7;
    period_days = 7;
  } else if (parse_as("%Y-%m-%d %H:%M", text, read = {}) ||
             parse_as("%Y-%m-%dT%H:%M", text, read = {})) {
    due = read;
  } else {
    return Error{ErrorKind::usage, "'" + text +
                                       "': a time from now above zero like 8h, or one to come like "
                                       "18:00, 'Fri 18:00' or '2026-11-27 18:00'"};
  }
  due.tm_hour = read.tm_hour;
  due.tm_min = read.tm_min;
  due.tm_sec = 0;
  due.tm_isdst = -1;  // summer time as it is on that day
  // mktime() puts impossible days right: the comparison below finds them.
  std::tm wanted = due;
  std::time_t at = std::mktime(&due);
  if (period_days == 0 && due.tm_mday != wanted.tm_mday) {  // 31 February
    return Error{ErrorKind::usage, "'" + text + "' is no day of the calendar"};
  }
  if (at <= now && period_days > 0) {
    wanted.tm_mday += period_days;
    at = std::mktime(&wanted);
  }
  if (at <= now) return Error{ErrorKind::usage, "'" + text + "' is past"};
  return Deadline{static_cast<double>(at - now), calendar_text(at)};
}

Status parse_interruptions(const std::string& text, Interruptions& into) {
  const std::size_t slash = text.find('/');
  into.counted = slash != std::string::npos;
  const auto watched = parse_duration(into.counted ? text.substr(slash + 1) : text);
  const auto seen = into.counted ? parse_integer(text.substr(0, slash)) : 1;
  if (!watched || !seen || *seen < 0) {
    return Error{ErrorKind::usage,
                 "'" + text +
                     "': the mean time between two of one machine like 8h, or those that "
                     "were seen in so many machine hours like 3/200h"};
  }
  into.watched_seconds = *watched;
  into.seen = static_cast<double>(*seen);
  return {};
}

Status parse_checkpoints(const std::string& text, Interruptions& into) {
  const std::size_t colon = text.find(':');
  const auto every = parse_duration(text.substr(0, colon));
  const auto takes =
      colon == std::string::npos ? Result<double>(0.0) : parse_duration(text.substr(colon + 1));
  if (!every || !takes) {
    return Error{ErrorKind::usage, "'" + text +
                                       "': a time like 15m, or with what each checkpoint "
                                       "takes like 15m:20s"};
  }
  into.checkpoint_every_seconds = *every;
  into.checkpoint_seconds = *takes;
  return {};
}

double draw_interruptions(const Interruptions& interruptions, Random& random) {
  if (!interruptions.expected() || !interruptions.counted) return interruptions.per_second();
  return draw_gamma(interruptions.seen, random) / interruptions.watched_seconds;
}

Finish draw_finish(double work_seconds, double start_seconds, double per_second,
                   const Interruptions& interruptions, double limit_seconds, Random& random) {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const bool kept = interruptions.checkpoint_every_seconds > 0;
  const double each = kept ? interruptions.checkpoint_every_seconds : kEndless;
  const double written = interruptions.checkpoint_seconds;
  const double restart =
      interruptions.restart_seconds > 0 ? interruptions.restart_seconds : start_seconds;
  Finish finish;
  double left = work_seconds;
  for (int attempt = 0; attempt < kMaxAttempts && finish.seconds <= limit_seconds; ++attempt) {
    const double start = attempt == 0 ? start_seconds : restart;
    const double checkpoints = kept ? std::ceil(left / each) : 0;  // the last one ends the job
    const double needed = start + left + checkpoints * written;
    const double up = per_second > 0 ? random.exponential(per_second) : kEndless;
    if (up >= needed) {
      finish.seconds += needed;
      return finish;
    }
    finish.seconds += up;
    ++finish.interruptions;
    // Whole intervals alone are kept; the last one would have ended the job.
    if (kept && up > start) {
      left -= each * std::min(std::floor((up - start) / (each + written)), checkpoints - 1);
    }
  }
  finish.seconds = kEndless;
  return finish;
}

}  // namespace ocrtune
