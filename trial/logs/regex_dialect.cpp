// regex:PATTERN, a log dialect of the user's own. RE2 matches in time linear in the line, whatever
// the pattern: the thread that matches also watches memory and the budget.
#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxLineBytes = 65'536;  // of a line, that are matched

using Setter = void (*)(LogReading&, double);

const std::map<std::string, Setter>& group_table() {
  static const std::map<std::string, Setter> kTable = {
      {"samples_per_second", [](LogReading& r, double x) { set_metric(r, {}, x); }},
      {"steps_per_second", [](LogReading& r, double x) { set_metric(r, {true}, x); }},
      {"seconds_per_step",
       [](LogReading& r, double x) {
         set_metric(r, {true, true, 1}, x);
       }},
      {"milliseconds_per_step",
       [](LogReading& r, double x) {
         set_metric(r, {true, true, 0.001}, x);
       }},
      {"samples", [](LogReading& r, double x) { r.samples = x; }},
      {"seconds", [](LogReading& r, double x) { r.seconds = x; }},
      {"step", [](LogReading& r, double x) { r.step_count = x; }},
      {"sample", [](LogReading& r, double x) { r.sample_count = x; }},
      {"loss", [](LogReading& r, double x) { r.loss = x; }},
  };
  return kTable;
}

// With (?P<name>...) for (?<name>...), which RE2 reads from 2023 on.
std::string with_python_names(const std::string& pattern) {
  std::string text;
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    text += c;
    if (c == '\\' && at + 1 < pattern.size()) {
      text += pattern[++at];
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    const bool named = c == '(' && !in_class && pattern.compare(at, 3, "(?<") == 0 &&
                       at + 3 < pattern.size() && pattern[at + 3] != '=' && pattern[at + 3] != '!';
    if (!named) continue;
    text += "?P<";
    at += 2;
  }
  return text;
}

bool says_a_rate(const std::map<std::string, int>& groups) {
  for (const auto& [name, number] : groups) {
    if (name != "samples" && name != "seconds" && name != "loss") return true;
  }
  return groups.contains("samples") && groups.contains("seconds");
}

// A pattern in ASCII reads any bytes, a log in GBK too.
RE2::Options options_for(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  const bool ascii =
      std::all_of(pattern.begin(), pattern.end(), [](char c) { return (c & 0x80) == 0; });
  options.set_encoding(ascii ? RE2::Options::EncodingLatin1 : RE2::Options::EncodingUTF8);
  return options;
}

}  // namespace

Result<LogDialect> regex_dialect(const std::string& pattern) {
  const auto compiled =
      std::make_shared<const RE2>(with_python_names(pattern), options_for(pattern));
  if (!compiled->ok()) {
    return Error{ErrorKind::usage, fmt::format("regex: '{}' does not compile: {}; the syntax is "
                                               "RE2's, without look-around and back references",
                                               pattern, compiled->error())};
  }
  const std::map<std::string, int>& groups = compiled->NamedCapturingGroups();
  std::vector<std::string> known;
  for (const auto& [name, set] : group_table()) known.push_back(name);
  for (const auto& [name, number] : groups) {
    if (group_table().contains(name)) continue;
    return Error{ErrorKind::usage, fmt::format("regex: unknown group (?<{}>...); there are {}",
                                               name, join(known, ", "))};
  }
  if (!says_a_rate(groups)) {
    return Error{ErrorKind::usage,
                 fmt::format("regex: '{}' names no number to measure; write a group such as "
                             "(?<samples_per_second>[0-9.]+)",
                             pattern)};
  }
  return LogDialect([compiled](const std::string& line) -> std::optional<LogReading> {
    const re2::StringPiece text(line.data(), std::min(line.size(), kMaxLineBytes));
    std::vector<re2::StringPiece> matched(
        static_cast<std::size_t>(compiled->NumberOfCapturingGroups()) + 1);
    if (!compiled->Match(text, 0, text.size(), RE2::UNANCHORED, matched.data(),
                         static_cast<int>(matched.size()))) {
      return std::nullopt;
    }
    LogReading reading;
    for (const auto& [name, number] : compiled->NamedCapturingGroups()) {
      const re2::StringPiece& piece = matched[static_cast<std::size_t>(number)];
      if (piece.data() == nullptr) continue;
      const auto value = number_at(std::string_view(piece.data(), piece.size()), 0);
      if (!value || (value->value <= 0 && name != "step" && name != "sample" && name != "loss")) {
        return std::nullopt;
      }
      group_table().at(name)(reading, value->value);
    }
    return reading;
  });
}

}  // namespace ocrtune
