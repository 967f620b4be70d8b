// Shapes, not regular expressions: very many lines are asked, and most of them have no date.
#include "diagnosis/context/log_time.h"

#include <algorithm>
#include <cstddef>

namespace ocrtune {
namespace {

// Matches `shape` at the start of text: 'd' is a digit, '/' is '/' or '-', '_' is a blank, 'T' or
// itself, anything else itself.
bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = text[i];
    bool fits = c == shape[i];
    if (shape[i] == 'd') fits = c >= '0' && c <= '9';
    if (shape[i] == '/') fits = c == '/' || c == '-';
    if (shape[i] == '_') fits = c == ' ' || c == 'T' || c == '_';
    if (!fits) return false;
  }
  return true;
}

int digits(std::string_view text, std::size_t from, std::size_t count) {
  int value = 0;
  for (std::size_t i = from; i < from + count; ++i) {
    value = value * 10 + (text[i] == ' ' ? 0 : text[i] - '0');
  }
  return value;
}

// `clock` starts at "hh:mm:ss", perhaps with a fraction.
double seconds_of(int month, int day, std::string_view clock) {
  // Of a leap year, for the year is unknown: times of other years are a day off after February.
  constexpr int kDaysBefore[] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
  const int days = kDaysBefore[std::clamp(month, 1, 12) - 1] + day - 1;
  double seconds = days * 86400.0 + digits(clock, 0, 2) * 3600.0 + digits(clock, 3, 2) * 60.0 +
                   digits(clock, 6, 2);
  double unit = 0.1;
  if (clock.size() > 8 && (clock[8] == '.' || clock[8] == ',')) {
    for (std::size_t i = 9; i < clock.size() && clock[i] >= '0' && clock[i] <= '9'; ++i) {
      seconds += unit * (clock[i] - '0');
      unit /= 10;
    }
  }
  return seconds;
}

int month_named(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = kMonths.find(text.substr(0, 3));
  return at != std::string_view::npos && at % 3 == 0 ? static_cast<int>(at / 3) + 1 : 0;
}

}  // namespace

std::optional<double> parse_log_time(std::string_view line) {
  // Dates stand at the beginning, behind prefixes; further on they are of something else.
  line = line.substr(0, 160);
  for (std::size_t i = 0; i + 14 < line.size(); ++i) {
    const std::string_view text = line.substr(i);
    const char c = text[0];
    if (c >= '0' && c <= '9') {
      if (has_shape(text, "dddd/dd/dd_dd:dd:dd")) {
        return seconds_of(digits(text, 5, 2), digits(text, 8, 2), text.substr(11));
      }
      if ((i == 0 || line[i - 1] == ' ') && has_shape(text, "dd-dd dd:dd:dd")) {  // vLLM
        return seconds_of(digits(text, 0, 2), digits(text, 3, 2), text.substr(6));
      }
    } else if (c == 'I' || c == 'W' || c == 'E' || c == 'F') {
      if (has_shape(text.substr(1), "dddd dd:dd:dd")) {
        return seconds_of(digits(text, 1, 2), digits(text, 3, 2), text.substr(6));
      }
      if (has_shape(text.substr(1), "ddd dd:dd:dd")) {  // PyTorch drops the month's zero
        return seconds_of(digits(text, 1, 1), digits(text, 2, 2), text.substr(5));
      }
    }
    if (c >= 'A' && c <= 'S' && text.size() >= 15 && text[3] == ' ' &&
        has_shape(text.substr(6), " dd:dd:dd") && month_named(text) > 0) {
      const char ten = text[4];
      if ((ten == ' ' || (ten >= '0' && ten <= '3')) && text[5] >= '0' && text[5] <= '9') {
        return seconds_of(month_named(text), digits(text, 4, 2), text.substr(7));
      }
    }
  }
  return std::nullopt;
}

}  // namespace ocrtune
