#include "diagnosis/printed_config.h"

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxValues = 400;

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

}  // namespace ocrtune
