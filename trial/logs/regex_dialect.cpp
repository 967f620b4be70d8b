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
#include "trial/logs/named_pattern.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxLineBytes = 65'536;  // of a line, that are matched

constexpr const char* kFile = "file";  // a text: each line is a sample

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
      {kFile, [](LogReading& r, double x) { r.sample_count = x; }},
  };
  return kTable;
}

bool says_a_rate(const std::map<std::string, int>& groups) {
  for (const auto& [name, number] : groups) {
    // These three alone make no rate; samples with seconds do.
    if (name != "samples" && name != "seconds" && name != "loss") return true;
  }
  return groups.contains("samples") && groups.contains("seconds");
}

}  // namespace

Result<LogDialect> regex_dialect(const std::string& pattern) {
  const std::shared_ptr<const RE2> compiled = OCRTUNE_TRY(compile_named(pattern));
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
  return LogDialect([compiled,
                     files = 0.0](const std::string& line) mutable -> std::optional<LogReading> {
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
      // The group took no part in the match.
      if (piece.data() == nullptr) continue;
      if (name == kFile) {
        group_table().at(name)(reading, ++files);
        continue;
      }
      const auto value = number_at(std::string_view(piece.data(), piece.size()), 0);
      // A step, a sample count and a loss may be 0 or below; a rate or a time may not.
      if (!value || (value->value <= 0 && name != "step" && name != "sample" && name != "loss")) {
        return std::nullopt;
      }
      group_table().at(name)(reading, value->value);
    }
    return reading;
  });
}

}  // namespace ocrtune
