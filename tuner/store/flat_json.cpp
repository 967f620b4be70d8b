// Reads the compact form that the JSON library dumps: no blanks, no nesting, no escapes. Anything
// else is refused at once and left to the library.
#include "tuner/store/flat_json.h"

#include <algorithm>

namespace ocrtune {
namespace {

// Takes a text in quotes off the front, quotes included; empty: there is none that is plain.
std::string_view take_text(std::string_view& left) {
  if (left.empty() || left.front() != '"') return {};
  const std::size_t end = left.find('"', 1);
  if (end == std::string_view::npos) return {};
  const std::string_view text = left.substr(0, end + 1);
  const bool plain =
      std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  if (!plain) return {};
  left.remove_prefix(text.size());
  return text;
}

std::string_view take_literal(std::string_view& left) {
  if (!left.empty() && left.front() == '"') return take_text(left);
  const std::string_view value = left.substr(0, left.find_first_of(",}"));
  left.remove_prefix(value.size());
  // An empty list alone ends before its own comma or brace; other lists and objects do not.
  const bool nests = value.find_first_of("[{") != std::string_view::npos && value != "[]";
  return nests ? std::string_view() : value;
}

bool take_sign(std::string_view& left, char c) {
  if (left.empty() || left.front() != c) return false;
  left.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<FlatJson> FlatJson::read(std::string_view text) {
  FlatJson object;
  if (!take_sign(text, '{')) return std::nullopt;
  do {
    const std::string_view key = take_text(text);
    if (key.empty() || !take_sign(text, ':')) return std::nullopt;
    const std::string_view value = take_literal(text);
    if (value.empty()) return std::nullopt;
    object.values_.emplace_back(key.substr(1, key.size() - 2), value);
  } while (take_sign(text, ','));
  if (text != "}") return std::nullopt;
  return object;
}

}  // namespace ocrtune
