// Files are gathered by the words in front of their names, because a program names each picture in
// the same words. A validation's lines are left out; whether the files are the program's work is
// decided by reader_finder.cpp.
#include "trial/logs/file_lines.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <re2/re2.h>

#include "base/text.h"
#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kLookedAtBytes = 400, kMostPatterns = 60, kMostFiles = 200;
// As kAtOnceSeconds of log_text.h: what comes within it is a list of what is to be done.
constexpr double kListedSeconds = 0.01;
constexpr std::string_view kEnds = " '\"`()[]{}<>,;|=";

bool is_file(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kEndings = {
      ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif", ".jp2", ".pdf"};
  const std::string low = lower(word);
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
    return low.size() > ending.size() && low.ends_with(ending);
  });
}

// The words before the file, their digits and blanks left open.
std::string before_pattern(std::string_view before) {
  std::string pattern;
  for (std::size_t at = 0; at < before.size();) {
    const bool digit = std::isdigit(static_cast<unsigned char>(before[at])) != 0;
    std::size_t end = at + 1;
    const auto alike = [&](char c) {
      return digit ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == ' ';
    };
    if (digit || before[at] == ' ') {
      while (end < before.size() && alike(before[end])) ++end;
      pattern += digit ? "[0-9]+" : " +";
    } else {
      pattern += RE2::QuoteMeta(std::string(before.substr(at, 1)));
    }
    at = end;
  }
  return pattern;
}

}  // namespace

void FileLines::add(const std::string& line, double now_seconds) {
  const std::string_view text = std::string_view(line).substr(0, kLookedAtBytes);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(kEnds, at);
    if (begin == text.npos) return;
    at = std::min(text.find_first_of(kEnds, begin), text.size());
    std::string_view word = text.substr(begin, at - begin);
    while (!word.empty() && (word.back() == ':' || word.back() == '.')) word.remove_suffix(1);
    if (!is_file(word)) continue;
    const std::string_view before = text.substr(0, begin);
    // The words in front tell what the file is for.
    if (names_validation(before)) return;
    const std::string key = before_pattern(before);
    const auto found = patterns_.find(key);
    if (found == patterns_.end() && patterns_.size() >= kMostPatterns) return;
    Named& named = patterns_[key];
    if (named.files.size() >= kMostFiles) return;
    const bool at_once =
        !named.files.empty() && now_seconds - named.latest_seconds < kListedSeconds;
    named.latest_seconds = now_seconds;
    // The line still counts as heard, so that a long list stays one.
    if (!at_once) named.files.emplace(word);
    named.line = line;
    // Only the first file of a line counts.
    return;
  }
}

std::optional<FileLines::Found> FileLines::found(std::size_t files) const {
  const Named* best = nullptr;
  std::string pattern;
  for (const auto& [key, named] : patterns_) {
    if (named.files.size() < files || (best && named.files.size() <= best->files.size())) continue;
    best = &named;
    pattern = key;
  }
  if (best == nullptr) return std::nullopt;
  // The group `file` counts one sample a line (trial/logs/regex_dialect.cpp).
  return Found{"regex:^" + pattern + "(?<file>[^ ]+\\.[A-Za-z0-9]{3,4})", best->line};
}

}  // namespace ocrtune
