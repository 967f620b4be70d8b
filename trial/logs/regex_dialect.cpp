// regex:PATTERN, a log dialect of the user's own. std::regex knows no named groups: their names are
// taken out before it compiles the pattern.
#include <map>
#include <regex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

// std::regex recurses for each character: longer lines are not matched.
constexpr std::size_t kMaxLineCharacters = 2000;

using Setter = void (*)(LogReading&, double);

const std::map<std::string, Setter>& group_table() {
  static const std::map<std::string, Setter> kTable = {
      {"samples_per_second", [](LogReading& r, double x) { r.samples_per_second = x; }},
      {"steps_per_second", [](LogReading& r, double x) { r.steps_per_second = x; }},
      {"seconds_per_step", [](LogReading& r, double x) { r.steps_per_second = 1 / x; }},
      {"milliseconds_per_step", [](LogReading& r, double x) { r.steps_per_second = 1000 / x; }},
      {"samples", [](LogReading& r, double x) { r.samples = x; }},
      {"seconds", [](LogReading& r, double x) { r.seconds = x; }},
      {"step", [](LogReading& r, double x) { r.step_count = x; }},
      {"sample", [](LogReading& r, double x) { r.sample_count = x; }},
      {"loss", [](LogReading& r, double x) { r.loss = x; }},
  };
  return kTable;
}

struct NamedPattern {
  std::string plain;
  std::vector<std::pair<std::size_t, std::string>> groups;  // number, name
};

NamedPattern take_names_out(const std::string& pattern) {
  NamedPattern named;
  std::size_t group = 0;
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    named.plain += c;
    if (c == '\\' && at + 1 < pattern.size()) {
      named.plain += pattern[++at];
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    if (c != '(' || in_class) continue;
    const bool special = pattern.compare(at, 2, "(?") == 0;
    std::size_t name = at + 2;
    if (special && pattern.compare(name, 1, "P") == 0) ++name;  // Python's (?P<name>...)
    const bool is_named = special && pattern.compare(name, 1, "<") == 0 &&
                          name + 1 < pattern.size() && pattern[name + 1] != '=' &&
                          pattern[name + 1] != '!';
    if (special && !is_named) continue;
    ++group;
    if (!is_named) continue;
    const std::size_t end = pattern.find('>', name);
    if (end == std::string::npos) break;
    named.groups.emplace_back(group, pattern.substr(name + 1, end - name - 1));
    at = end;
  }
  return named;
}

bool says_a_rate(const NamedPattern& named) {
  bool samples = false;
  bool seconds = false;
  for (const auto& [number, name] : named.groups) {
    samples = samples || name == "samples";
    seconds = seconds || name == "seconds";
    if (name != "samples" && name != "seconds" && name != "loss") return true;
  }
  return samples && seconds;
}

}  // namespace

Result<LogDialect> regex_dialect(const std::string& pattern) {
  const NamedPattern named = take_names_out(pattern);
  std::vector<std::string> known;
  for (const auto& [name, set] : group_table()) known.push_back(name);
  for (const auto& [number, name] : named.groups) {
    if (group_table().count(name) != 0) continue;
    return Error{ErrorKind::usage, fmt::format("regex: unknown group (?<{}>...); there are {}",
                                               name, join(known, ", "))};
  }
  if (!says_a_rate(named)) {
    return Error{ErrorKind::usage,
                 fmt::format("regex: '{}' names no number to measure; write a group such as "
                             "(?<samples_per_second>[0-9.]+)",
                             pattern)};
  }
  std::regex compiled;
  try {
    compiled.assign(named.plain, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return Error{ErrorKind::usage,
                 fmt::format("regex: '{}' does not compile: {}", pattern, error.what())};
  }
  return LogDialect([compiled,
                     groups = named.groups](const std::string& line) -> std::optional<LogReading> {
    std::smatch match;
    try {
      if (line.size() > kMaxLineCharacters || !std::regex_search(line, match, compiled)) {
        return std::nullopt;
      }
    } catch (const std::regex_error&) {
      return std::nullopt;  // too complex for this line
    }
    LogReading reading;
    for (const auto& [number, name] : groups) {
      if (!match[number].matched) continue;
      const auto value = number_at(match[number].str(), 0);
      if (!value || (value->value <= 0 && name != "step" && name != "sample" && name != "loss")) {
        return std::nullopt;
      }
      group_table().at(name)(reading, value->value);
    }
    return reading;
  });
}

}  // namespace ocrtune
