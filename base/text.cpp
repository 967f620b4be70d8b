// Numbers by std::from_chars, which knows no locale: a decimal comma of the user's language changes
// neither what is read nor what is written.
#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/byte_text.h"

namespace ocrtune {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Error not_a(const char* noun, std::string_view text) {
  return Error{ErrorKind::usage, fmt::format("'{}' is not {}", text, noun)};
}

// A leading decimal number; `rest` gets what follows it.
Result<double> leading_number(std::string_view text, std::string_view* rest) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || !std::isfinite(value)) return not_a("a number", text);
  *rest = std::string_view(stop, static_cast<std::size_t>(end - stop));
  return value;
}

// Wagner and Fischer's table, of which one row is kept.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == by) {
      parts.emplace_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  return parts;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  std::size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && is_blank(text[i])) ++i;
    const std::size_t start = i;
    while (i < text.size() && !is_blank(text[i])) ++i;
    if (i > start) found.emplace_back(text.substr(start, i - start));
  }
  return found;
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool ends_with(std::string_view text, std::string_view suffix) { return text.ends_with(suffix); }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Result<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = trim(text);
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  auto [stop, code] = std::from_chars(digits.data(), end, value);
  if (code != std::errc() || stop != end) return not_a("a whole number", text);
  return value;
}

Result<double> parse_number(std::string_view text) {
  std::string_view rest;
  auto value = leading_number(trim(text), &rest);
  if (!value || !rest.empty()) return not_a("a number", text);
  return value;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::string_view rest;
  auto number = leading_number(trim(text), &rest);
  if (!number || *number < 0) return not_a("a size such as 64MiB or 2G", text);
  const std::string unit = lower(trim(rest));
  double scale = 0;
  if (unit.empty() || unit == "b") scale = 1;
  const std::string_view prefixes = "kmgt";
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    const std::string letter(1, prefixes[i]);
    const auto power = static_cast<double>(i + 1);
    if (unit == letter || unit == letter + "ib") scale = std::pow(1024.0, power);
    if (unit == letter + "b") scale = std::pow(1000.0, power);
  }
  const double bytes = *number * scale;
  // Below 2^64, so that the conversion is defined.
  if (scale == 0 || bytes > 1e18) return not_a("a size such as 64MiB or 2G", text);
  return static_cast<std::uint64_t>(bytes);
}

Result<double> parse_duration(std::string_view text) {
  std::string_view left = trim(text);
  double seconds = 0;
  if (left.empty()) return not_a("a time such as 90s or 5m", text);
  while (!left.empty()) {
    std::string_view rest;
    auto number = leading_number(left, &rest);
    if (!number || *number < 0) return not_a("a time such as 90s or 5m", text);
    std::size_t letters = 0;
    while (letters < rest.size() && std::isalpha(static_cast<unsigned char>(rest[letters]))) {
      ++letters;
    }
    const std::string_view unit = rest.substr(0, letters);
    double scale = 0;
    if (unit.empty() || unit == "s") scale = 1;
    if (unit == "ms") scale = 1e-3;
    if (unit == "m" || unit == "min") scale = 60;
    if (unit == "h") scale = 3600;
    if (unit == "d") scale = 86400;
    if (unit == "w") scale = 7 * 86400;
    if (scale == 0) return not_a("a time such as 90s or 5m", text);
    seconds += *number * scale;
    left = trim(rest.substr(letters));
  }
  if (seconds <= 0) return not_a("a time above zero", text);
  // A guess that refuses a mistyped time.
  constexpr double kMostSeconds = 10 * 366 * 86400.0;
  if (seconds > kMostSeconds) return not_a("a time of ten years at most", text);
  return seconds;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // From here on one decimal would round to "1024.0".
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_duration(double seconds) {
  constexpr double kThousandYears = 1000 * 365.25 * 86400;
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds > kThousandYears) return "more than 1000 years";
  if (seconds < 0) return "-" + format_duration(-seconds);
  // The bounds lie half a last digit below the next unit, so that 59.96 s is "1 min 00 s".
  if (seconds > 0 && seconds < 0.00005) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 0.09995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole % 86400 / 3600);
}

std::string format_count(double value) {
  if (!std::isfinite(value)) return "unknown";
  const double size = std::fabs(value);
  if (size >= 99999.5e3) return fmt::format("{:.4g} M", value / 1e6);
  if (size >= 99999.5) return fmt::format("{:.4g} k", value / 1e3);
  if (size >= 999.5) return fmt::format("{:.0f}", value);
  return size >= 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.3g}", value);
}

std::string format_percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.1f} %", fraction * 100) : "unknown";
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string quoted_line(std::string_view line, std::size_t most) {
  const auto is_inside = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
  };
  line = trim(line);
  if (line.size() <= most) return valid_utf8(line);
  std::size_t head = most / 3, tail = line.size() - (most - head);
  while (head > 0 && is_inside(line[head])) --head;
  while (tail < line.size() && is_inside(line[tail])) ++tail;
  const std::string begin = valid_utf8(trim(line.substr(0, head)));
  return begin + (begin.empty() ? "... " : " ... ") + valid_utf8(trim(line.substr(tail)));
}

std::string shell_quote(std::string_view argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-{}";
  // Bash expands {a,b} and {1..3}.
  const bool expands = argument.find('{') != std::string_view::npos &&
                       (argument.find(',') != std::string_view::npos ||
                        argument.find("..") != std::string_view::npos);
  if (!argument.empty() && !expands &&
      argument.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(argument);
  }
  std::string out = "'";
  for (char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool is_variable_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), fits);
}

std::string shell_join(const std::vector<std::string>& arguments) {
  std::vector<std::string> quoted;
  quoted.reserve(arguments.size());
  for (const auto& argument : arguments) quoted.push_back(shell_quote(argument));
  return join(quoted, " ");
}

std::string shell_line(std::string_view command) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  // Octal with three digits, for a digit that follows must not become part of the escape.
  const auto escaped = [&](char c) {
    if (c == '\n') return std::string("\\n");
    if (c == '\t') return std::string("\\t");
    if (c == '\\') return std::string("\\\\");
    return is_control(c) ? fmt::format("\\{:03o}", static_cast<unsigned>(c)) : std::string(1, c);
  };
  std::string out;
  for (std::size_t at = 0; at < command.size();) {
    const char c = command[at];
    const std::size_t close = c == '\'' ? command.find('\'', at + 1) : std::string_view::npos;
    if (close == std::string_view::npos) {
      // A backslash keeps its next character, so an escaped quote opens nothing.
      const std::size_t taken = c == '\\' && at + 1 < command.size() ? 2 : 1;
      out += command.substr(at, taken);
      at += taken;
      continue;
    }
    const std::string_view quoted = command.substr(at + 1, close - at - 1);
    at = close + 1;
    const bool plain = std::none_of(quoted.begin(), quoted.end(), is_control);
    out += plain ? "'" : "$'";
    for (const char inner : quoted) out += plain ? std::string(1, inner) : escaped(inner);
    out += '\'';
  }
  return out;
}

bool is_text(std::string_view line) {
  // What terminals take: BEL to CR, the shifts between character sets (tput sgr0), escape.
  constexpr std::string_view kTaken = "\a\b\t\n\v\f\r\x0e\x0f\x1b";
  return std::none_of(line.begin(), line.end(), [&](char c) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    return control && kTaken.find(c) == std::string_view::npos;
  });
}

std::string without_binary(std::string_view text) {
  std::string out;
  std::size_t skipped = 0;
  const auto mark = [&] {
    if (skipped > 0) out += fmt::format("(not text, size in bytes: {})\n", skipped);
    skipped = 0;
  };
  while (!text.empty()) {
    // A last line without an end counts too: npos becomes the text's size.
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (!is_text(line)) {
      skipped += line.size();
      continue;
    }
    mark();
    out += line;
  }
  mark();
  return out;
}

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& names) {
  std::string best;
  std::size_t best_distance = 3;
  for (const auto& name : names) {
    const std::size_t distance = edit_distance(wanted, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace ocrtune
