// Each open traceback is known by what stands before its lines (a logger's prefix, a rank), in
// which digits of a clock may differ. A line belongs to the traceback whose prefix it has.
#include "diagnosis/context/tracebacks.h"

#include <algorithm>

#include "base/text.h"
#include "diagnosis/context/line_origin.h"

namespace ocrtune {
namespace {

// Guesses that bound memory: one for each rank of a host, and a traceback that was never ended.
constexpr std::size_t kMaxOpen = 64;
constexpr int kMaxForeignLines = 200;
constexpr std::string_view kFrame = "  File \"";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Which characters of a prefix belong to a date or a clock: "2025-01-02", "10:00:01,350".
bool is_clock(std::string_view prefix, std::size_t at) {
  constexpr std::string_view kOfClocks = "0123456789:,./-";
  constexpr std::size_t kShortest = 5;
  const std::size_t before = prefix.find_last_not_of(kOfClocks, at);
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  return std::min(prefix.find_first_not_of(kOfClocks, at), prefix.size()) - first >= kShortest;
}

// "2025-01-02 10:00:01 - INFO - " before one line, another time before the next.
bool has_prefix(std::string_view line, std::string_view prefix) {
  if (line.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (line[i] == prefix[i]) continue;
    if (!is_digit(line[i]) || !is_digit(prefix[i]) || !is_clock(prefix, i)) return false;
  }
  return true;
}

bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && has_prefix(a, b);
}

// "KeyError: 'x'", "queue.Empty", "TimeLimitExceeded(300,)", "redis.exceptions.DataError: x".
bool names_exception(std::string_view text) {
  const auto is_name = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
  };
  const auto end = std::find_if_not(text.begin(), text.end(), is_name);
  const std::string_view name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  const std::string_view rest = text.substr(name.size());
  const auto has = [&](char first, char last) {
    return std::ranges::any_of(name, [=](char c) { return c >= first && c <= last; });
  };
  constexpr std::size_t kShortest = 4;
  if (name.size() < kShortest || is_digit(name[0]) || !has('A', 'Z') || !has('a', 'z'))
    return false;
  if (!rest.empty()) return rest[0] == '(' || rest == ":" || starts_with(rest, ": ");
  // Alone in its line, "Killed" is a shell's.
  return name.find('.') != std::string_view::npos || ends_with(name, "Error") ||
         ends_with(name, "Exception") || ends_with(name, "Iteration");
}

bool is_installed(std::string_view path) {
  constexpr std::string_view kParts[] = {"site-packages", "dist-packages", "/lib/python", "<frozen",
                                         "<string>"};
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return path.find(part) != std::string_view::npos; });
}

// ".../site-packages/numpy/__init__.py" -> "numpy"; empty: no installed package's, or torch's,
// which answers for the classes of its callers.
std::string_view package_of(std::string_view path) {
  constexpr std::string_view kFolder = "-packages/";
  const std::size_t at = path.rfind(kFolder);
  if (at == std::string_view::npos) return "";
  path.remove_prefix(at + kFolder.size());
  const std::string_view name = path.substr(0, path.find_first_of("/."));
  return name == "torch" ? "" : name;
}

// The last two parts of a path.
std::string_view tail(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string_view::npos || slash == 0) return path;
  const std::size_t before = path.find_last_of('/', slash - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

}  // namespace

void Tracebacks::begin(std::string_view line, bool ignored) {
  const std::string_view header = line.substr(0, line.find("Traceback (most recent call last)"));
  // A second header with the same prefix: the first was cut off, or chained to this one.
  const auto cut_off = std::ranges::find_if(
      open_, [&](const Traceback& one) { return is_same(one.header, header); });
  if (cut_off != open_.end()) open_.erase(cut_off);
  if (open_.size() == kMaxOpen) open_.erase(open_.begin());
  Traceback one{std::string(header), std::nullopt, {}, false, false, 0};
  one.at.ignored = ignored;
  one.at.rank = rank_of_line(line.substr(std::min(line.find("last):"), line.size())));
  open_.push_back(std::move(one));
}

std::optional<RaisedAt> Tracebacks::take_line(std::string_view line) {
  open_.erase(
      std::remove_if(open_.begin(), open_.end(),
                     [](const Traceback& one) { return one.foreign_lines > kMaxForeignLines; }),
      open_.end());
  for (Traceback& one : open_) one.foreign_lines += 1;
  if (const std::size_t frame = line.find(kFrame); frame != std::string_view::npos) {
    take_first_frame(line.substr(0, frame));
  }
  for (auto one = open_.begin(); one != open_.end(); ++one) {
    if (!one->prefix || !has_prefix(line, *one->prefix)) continue;
    const std::string_view text = line.substr(one->prefix->size());
    if (starts_with(text, " ")) {
      one->foreign_lines = 0;
      if (starts_with(text, kFrame)) take_frame(text, *one);
      return std::nullopt;
    }
    if (!names_exception(text)) continue;
    RaisedAt at = std::move(one->at);
    if (one->evaluates) at.place += " (evaluating)";
    open_.erase(one);
    return at;
  }
  return std::nullopt;
}

// Gives a header without frames its prefix, which is the frame's where the header is only the
// first line of a message.
void Tracebacks::take_first_frame(std::string_view prefix) {
  Traceback* fresh = nullptr;
  for (Traceback& one : open_) {
    if (one.prefix && is_same(*one.prefix, prefix)) return;
    if (one.prefix) continue;
    if (fresh == nullptr || is_same(one.header, prefix)) fresh = &one;
  }
  if (fresh != nullptr) fresh->prefix = prefix;
}

// `  File "/app/data/lines.py", line 31, in __init__`
void Tracebacks::take_frame(std::string_view frame, Traceback& one) {
  frame.remove_prefix(kFrame.size());
  const std::size_t quote = frame.find("\", line ");
  if (quote == std::string_view::npos) return;
  const std::string_view path = frame.substr(0, quote);
  std::string_view number = frame.substr(quote + 8);
  number = number.substr(0, std::min(number.find_first_not_of("0123456789"), number.size()));
  const std::string_view function = frame.substr(frame.rfind(' ') + 1);
  one.evaluates =
      one.evaluates || function.find("evalua") != function.npos || starts_with(function, "valid");
  one.at.file = path.substr(path.find_last_of('/') + 1);
  one.at.library = package_of(path);
  const bool own = !is_installed(path);
  // The user's own line says more than a library's below it.
  if (!own && one.own_code) return;
  one.own_code = own;
  one.at.place = std::string(tail(path)) + ":" + std::string(number);
}

}  // namespace ocrtune
