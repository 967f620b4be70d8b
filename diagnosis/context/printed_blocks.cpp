#include "diagnosis/context/printed_blocks.h"

#include <algorithm>

#include "base/text.h"
#include "diagnosis/context/log_time.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxValues = 400;
constexpr int kReportLines = 16;
constexpr std::size_t kMaxReports = 64;

// "    rank      : 3 (local_rank: 3)" -> "3 (local_rank: 3)"; empty: another line.
std::string_view field(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ')) return "";
  const std::string_view rest = line.substr(at + key.size());
  const std::size_t colon = rest.find_first_not_of(' ');
  if (colon == std::string_view::npos || rest[colon] != ':') return "";
  return trim(rest.substr(colon + 1));
}

std::optional<std::int64_t> leading_integer(std::string_view text) {
  const std::size_t sign = starts_with(text, "-") ? 1 : 0;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", sign), text.size());
  const auto number = parse_integer(text.substr(0, end));
  return number ? std::optional<std::int64_t>(*number) : std::nullopt;
}

}  // namespace

void PrintedConfig::take_line(std::string_view line) {
  constexpr std::string_view kMark = " INFO: ";
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos || mark > 48 || values_.size() > kMaxValues) return;
  const std::string_view text = line.substr(mark + kMark.size());
  const std::size_t indent = text.find_first_not_of(' ');
  const std::size_t colon = text.find(" : ");
  const std::size_t end = colon == std::string_view::npos ? text.rfind(" :") : colon;
  if (indent == std::string_view::npos || end == std::string_view::npos || end <= indent) return;
  const std::string key(text.substr(indent, end - indent));
  if (key.find(' ') != std::string::npos) return;
  while (!path_.empty() && path_.back().first >= indent) path_.pop_back();
  const std::string value(trim(text.substr(end + 2)));
  if (value.empty()) {
    path_.emplace_back(indent, key);
    return;
  }
  if (path_.empty() ||
      (path_[0].second != "Train" && path_[0].second != "Global" && path_[0].second != "Eval")) {
    return;
  }
  std::string full;
  for (const auto& [depth, part] : path_) full += part + ".";
  values_[full + key] = value;
}

bool LauncherReport::begins(std::string_view line) {
  return line.find("Root Cause (first observed failure)") != std::string_view::npos ||
         ends_with(trim(line), "Root Cause:") ||
         line.find("The first process to do so was") != std::string_view::npos;
}

void LauncherReport::take_line(std::string_view line, std::int64_t number) {
  if (begins(line)) {
    now_ = FirstFailure();
    now_.first_line = number;
    lines_left_ = kReportLines;
    return;
  }
  lines_left_ -= 1;
  now_.last_line = number;
  if (const std::string_view time = field(line, "time"); !time.empty()) {
    now_.when = parse_log_time(time);
  } else if (const auto rank = leading_integer(field(line, "rank")); rank) {
    now_.rank = static_cast<int>(*rank);
  } else if (const auto code = leading_integer(field(line, "exitcode")); code) {
    now_.exit_code = *code;
  } else if (const std::string_view name = field(line, "Process name"); !name.empty()) {
    const std::size_t comma = name.rfind(',');  // [[41882,1],2]: job, rank
    if (comma != std::string_view::npos) {
      now_.rank = static_cast<int>(leading_integer(name.substr(comma + 1)).value_or(-1));
    }
  } else if (const auto mpi = leading_integer(field(line, "Exit code")); mpi) {
    now_.exit_code = *mpi;
  }
  if (now_.rank < 0 || !now_.exit_code || failures_.size() == kMaxReports) return;
  failures_.push_back(now_);
  lines_left_ = 0;
}

}  // namespace ocrtune
