// Turns the body of an answer into the texts that are compared.
#include "trial/answers/answer_fields.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

// The second is a guess: base64 of any picture is longer, no text has so many characters in a row.
constexpr std::size_t kIdDigits = 8;             // hexadecimal ones in a row
constexpr std::size_t kPictureCharacters = 256;  // without a blank: no line of text

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool is_id(std::string_view name) {
  const auto digits = std::count_if(name.begin(), name.end(), is_digit);
  if (digits == static_cast<std::ptrdiff_t>(name.size()) && digits > 0) return true;
  // Dashes are allowed for UUIDs. A word such as "added" has no digit, so it stays a name.
  const bool hex =
      std::all_of(name.begin(), name.end(), [](char c) { return is_hex(c) || c == '-'; });
  return hex && digits > 0 && name.size() >= kIdDigits;
}

bool is_picture(std::string_view text) {
  if (starts_with(text, "data:")) return true;
  if (text.size() < kPictureCharacters) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=' ||
           c == '-' || c == '_';
  });
}

std::string below(const std::string& path, std::string_view name) {
  const std::string step = is_id(name) ? "*" : std::string(name);
  return path.empty() ? step : path + "." + step;
}

// Whether a path is one of `same` or lies below it. Numbers in a wanted path name items of lists,
// which the paths here pass through.
bool is_wanted(const std::string& path, const std::vector<std::string>& same) {
  return std::any_of(same.begin(), same.end(), [&](const std::string& one) {
    std::string wanted;
    for (const std::string& name : split(one, '.')) {
      if (!parse_integer(name)) wanted = below(wanted, name);
    }
    return path == wanted || starts_with(path, wanted + ".") || wanted.empty();
  });
}

bool counts(const std::string& path, const Json& leaf, const std::vector<std::string>& same) {
  if (!same.empty()) return is_wanted(path, same);
  return leaf.is_string() && !is_picture(leaf.get_ref<const std::string&>());
}

void collect(const Json& value, const std::string& path, const std::vector<std::string>& same,
             std::map<std::string, std::vector<std::string>>& fields) {
  if (value.is_array()) {
    for (const Json& one : value) collect(one, path, same, fields);
  } else if (value.is_object()) {
    for (const auto& [name, one] : value.items()) collect(one, below(path, name), same, fields);
  } else if (counts(path, value, same)) {
    fields[path].push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
}

void list_strings(const Json& value, const std::string& path, const std::vector<std::string>& same,
                  std::vector<AnswerString>& strings) {
  if (value.is_array()) {
    for (const Json& one : value) list_strings(one, path, same, strings);
  } else if (value.is_object()) {
    for (const auto& [name, one] : value.items()) {
      // A name of an object is listed too, because RawStrings cannot tell a name from a value.
      strings.push_back({});
      list_strings(one, below(path, name), same, strings);
    }
  } else if (value.is_string()) {
    const bool counted = counts(path, value, same);
    strings.push_back({counted ? path : "", counted});
  }
}

// A plain scan without entities: both sides of a comparison go through it.
std::string without_tags(std::string_view body) {
  std::string text;
  bool inside = false;
  for (const char c : body) {
    if (c == '<') inside = true;
    if (!inside) text += c;
    if (c == '>') inside = false;
  }
  return text;
}

}  // namespace

std::string text_answer(const std::vector<std::string>& texts) {
  Json json = {{kTextPath, Json::array()}};
  for (const std::string& text : texts) json[kTextPath].push_back(valid_utf8(text));
  return json.dump();
}

std::vector<AnswerField> answer_fields(std::string_view body,
                                       const std::vector<std::string>& same) {
  // Without exceptions: an answer that is no JSON is the usual case of a command.
  const Json document = Json::parse(body, nullptr, false);
  std::map<std::string, std::vector<std::string>> fields;
  if (document.is_discarded()) {
    // The user has named paths of JSON, and this answer has none.
    if (!same.empty()) return {};
    const std::string_view text = trim(body);
    if (text.empty()) return {};
    fields[""] = {starts_with(text, "<") ? std::string(trim(without_tags(text)))
                                         : std::string(text)};
  } else {
    collect(document, "", same, fields);
  }
  std::vector<AnswerField> sorted;
  for (auto& [path, texts] : fields) sorted.push_back({path, std::move(texts)});
  return sorted;
}

std::vector<AnswerString> answer_strings(std::string_view body,
                                         const std::vector<std::string>& same) {
  std::vector<AnswerString> strings;
  const Json document = Json::parse(body, nullptr, false);
  if (!document.is_discarded()) list_strings(document, "", same, strings);
  return strings;
}

bool RawStrings::next(std::string_view& text) {
  const auto find_quote = [&](const char* from) {
    return from < end_ ? static_cast<const char*>(
                             std::memchr(from, '"', static_cast<std::size_t>(end_ - from)))
                       : nullptr;
  };
  const char* begin = find_quote(at_);
  if (begin == nullptr) return false;
  const char* quote = find_quote(begin + 1);
  const auto escaped = [&](const char* at) {
    std::ptrdiff_t slashes = 0;
    // An even number of backslashes escapes itself, so the quote behind them ends the string.
    while (at[-1 - slashes] == '\\') ++slashes;  // the opening quote ends it
    return slashes % 2 == 1;
  };
  while (quote != nullptr && escaped(quote)) quote = find_quote(quote + 1);
  if (quote == nullptr) return false;
  text = {begin + 1, static_cast<std::size_t>(quote - begin - 1)};
  at_ = quote + 1;
  return true;
}

bool looks_counted(std::string_view text) {
  const std::string_view held = trim(text);
  if (held.empty() || is_id(held)) return true;
  const auto digits = std::count_if(held.begin(), held.end(), is_digit);
  const auto letters = std::count_if(held.begin(), held.end(), [](char c) {
    // Each byte above 127 counts as a letter: a CJK character counts as three.
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<signed char>(c) < 0;
  });
  // Up to four letters are a unit, as in "12 ms" or "3 KiB/s".
  const bool measure = digits > 0 && letters <= 4;
  // An id of another alphabet: no blank, letters and digits mixed, long.
  const bool token = held.size() >= 16 && digits > 1 && held.find(' ') == std::string_view::npos;
  return measure || token;
}

bool looks_dated(std::string_view text) {
  // Fixed places as in ISO 8601: "2026-11-25T22:41" has 16 characters.
  const auto digit = [&](std::size_t at) { return at < text.size() && is_digit(text[at]); };
  return text.size() >= 16 && digit(0) && digit(3) && text[4] == '-' && digit(5) &&
         text[7] == '-' && digit(8) && (text[10] == 'T' || text[10] == ' ') && digit(11) &&
         text[13] == ':' && digit(14);
}

}  // namespace ocrtune
