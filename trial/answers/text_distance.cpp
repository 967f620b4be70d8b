// Edits between texts, by characters.
#include "trial/answers/text_distance.h"

#include <algorithm>
#include <span>

#include "base/byte_text.h"
#include "core/infer/decode.h"

namespace ocrtune {
namespace {

constexpr std::size_t kPieceCharacters = 4000;  // squared: about 20 ms
constexpr char32_t kNoCharacter = 0xfffd;

std::vector<int> as_numbers(std::u32string_view text) { return {text.begin(), text.end()}; }

std::int64_t distance_of_pieces(std::u32string_view a, std::u32string_view b) {
  std::int64_t edits = 0;
  while (!a.empty() || !b.empty()) {
    const std::u32string_view from = a.substr(0, kPieceCharacters);
    const std::u32string_view to = b.substr(0, kPieceCharacters);
    edits += edit_distance(as_numbers(from), as_numbers(to));
    a.remove_prefix(from.size());
    b.remove_prefix(to.size());
  }
  return edits;
}

}  // namespace

std::u32string characters_of(std::string_view text) {
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    if (length == 0) {
      characters += kNoCharacter;
      ++at;
      continue;
    }
    // Of the first byte the bits behind its length mark: 5, 4 or 3 of them.
    char32_t character = length == 1 ? byte(0) : byte(0) & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) character = character << 6 | (byte(i) & 0x3fU);
    characters += character;
    at += length;
  }
  return characters;
}

std::string utf8_of(std::u32string_view characters) {
  std::string text;
  for (const char32_t character : characters) {
    const auto tail = [&](int shift) {
      text += static_cast<char>(0x80 | (character >> shift & 0x3f));
    };
    if (character < 0x80) {
      text += static_cast<char>(character);
    } else if (character < 0x800) {
      text += static_cast<char>(0xc0 | character >> 6);
      tail(0);
    } else if (character < 0x10000) {
      text += static_cast<char>(0xe0 | character >> 12);
      tail(6);
      tail(0);
    } else {
      text += static_cast<char>(0xf0 | character >> 18);
      tail(12);
      tail(6);
      tail(0);
    }
  }
  return text;
}

std::int64_t character_count(std::string_view text) {
  return static_cast<std::int64_t>(characters_of(text).size());
}

std::int64_t character_distance(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  const std::u32string from = characters_of(a);
  const std::u32string to = characters_of(b);
  std::u32string_view left = from;
  std::u32string_view right = to;
  const auto begin = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  // Most texts differ in one place: what is left is short, and the quadratic part is cheap.
  const auto alike = static_cast<std::size_t>(begin.first - left.begin());
  left.remove_prefix(alike);
  right.remove_prefix(alike);
  while (!left.empty() && !right.empty() && left.back() == right.back()) {
    left.remove_suffix(1);
    right.remove_suffix(1);
  }
  return distance_of_pieces(left, right);
}

std::int64_t texts_distance(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  // Texts have no partner by their order where one is missing.
  if (a.size() == b.size()) {
    std::int64_t edits = 0;
    for (std::size_t i = 0; i < a.size(); ++i) edits += character_distance(a[i], b[i]);
    return edits;
  }
  const auto joined = [](const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += text + "\n";
    return all;
  };
  return character_distance(joined(a), joined(b));
}

}  // namespace ocrtune
