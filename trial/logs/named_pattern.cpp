// An RE2 from before 2023 does not know (?<name>...), so patterns are rewritten to Python's form.
// The rewriting keeps escapes and character classes as they are.
#include "trial/logs/named_pattern.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

namespace ocrtune {
namespace {

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
                       // Look-behind is left as it is, so that RE2 refuses it with its own words.
                       at + 3 < pattern.size() && pattern[at + 3] != '=' && pattern[at + 3] != '!';
    if (!named) continue;
    text += "?P<";
    at += 2;
  }
  return text;
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

Result<std::shared_ptr<const re2::RE2>> compile_named(const std::string& pattern) {
  auto compiled = std::make_shared<const RE2>(with_python_names(pattern), options_for(pattern));
  if (!compiled->ok()) {
    return Error{ErrorKind::usage, fmt::format("regex: '{}' does not compile: {}; the syntax is "
                                               "RE2's, without look-around and back references",
                                               pattern, compiled->error())};
  }
  return std::shared_ptr<const RE2>(std::move(compiled));
}

}  // namespace ocrtune
