// UTF-8 is checked by hand, character by character, after table 3-7 of the Unicode standard. A text
// that reads as a path is refused as an alphabet, or a typing error would become one.
#include "core/data/alphabet.h"

#include <algorithm>
#include <cctype>

#include "base/files.h"

namespace ocrtune {
namespace {

// Bytes of the character that starts at `at`, or 0 if that is not UTF-8 (overlong forms,
// surrogates and code points past U+10FFFF are not).
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned first = byte(0);
  std::size_t length = 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) length = 2;
  if (first >= 0xE0 && first < 0xF0) length = 3;
  if (first >= 0xF0 && first < 0xF5) length = 4;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) >= 0xA0) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) >= 0x90) return 0;
  return length;
}

bool is_letter(char byte) { return std::isalpha(static_cast<unsigned char>(byte)) != 0; }

// "dict/en", "./x", "en.txt"; but "0123456789/.-" and "abc." are characters.
bool names_a_file(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const bool starts_a_name = i == 0 || is_letter(text[i - 1]) || text[i - 1] == '.';
    if (text[i] == '/' && starts_a_name && is_letter(text[i + 1])) return true;
  }
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view suffix = text.substr(dot + 1);
  constexpr std::size_t kMinSuffix = 2;
  constexpr std::size_t kMaxSuffix = 4;
  return suffix.size() >= kMinSuffix && suffix.size() <= kMaxSuffix &&
         std::all_of(suffix.begin(), suffix.end(), is_letter);
}

}  // namespace

Result<std::vector<std::string>> split_characters(std::string_view text) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_bytes(text, at);
    if (length == 0) {
      return Error{ErrorKind::invalid, "byte " + std::to_string(at + 1) + " is not UTF-8"};
    }
    characters.emplace_back(text.substr(at, length));
    at += length;
  }
  return characters;
}

Result<Alphabet> Alphabet::from_text(std::string_view text) {
  const auto characters = split_characters(text);
  if (!characters) return Error{ErrorKind::usage, "alphabet: " + characters.error().what};
  Alphabet alphabet;
  for (const std::string& character : *characters) {
    const int next_class = alphabet.classes();
    if (alphabet.classes_.emplace(character, next_class).second) {
      alphabet.characters_.push_back(character);
    }
  }
  if (alphabet.characters_.empty()) return Error{ErrorKind::usage, "the alphabet is empty"};
  return alphabet;
}

Result<Alphabet> Alphabet::from_name(std::string_view name_or_text) {
  if (name_or_text == "digits") return from_text("0123456789");
  if (name_or_text == "alnum") return from_text("0123456789abcdefghijklmnopqrstuvwxyz");
  if (names_a_file(name_or_text)) {
    return Error{ErrorKind::usage,
                 "alphabet " + std::string(name_or_text) +
                     ": no such file; give digits, alnum, a dictionary file, or the characters"};
  }
  return from_text(name_or_text);
}

Result<Alphabet> Alphabet::load(const std::string& path) {
  const auto text = OCRTUNE_TRY(read_file(path, 16 << 20));
  std::string_view rest = text;
  if (rest.substr(0, 3) == "\xEF\xBB\xBF") rest.remove_prefix(3);
  Alphabet alphabet;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    std::string_view character = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (!character.empty() && character.back() == '\r') character.remove_suffix(1);
    const std::string place = path + ":" + std::to_string(line) + ": ";
    if (character.empty() || character_bytes(character, 0) != character.size()) {
      return Error{ErrorKind::invalid, place + "not one UTF-8 character"};
    }
    const int next_class = alphabet.classes();
    if (!alphabet.classes_.emplace(character, next_class).second) {
      return Error{ErrorKind::invalid, place + "'" + std::string(character) + "' comes twice"};
    }
    alphabet.characters_.emplace_back(character);
  }
  if (alphabet.characters_.empty()) return Error{ErrorKind::invalid, path + ": no characters"};
  return alphabet;
}

std::string Alphabet::text() const {
  std::string text;
  for (const std::string& character : characters_) text += character;
  return text;
}

std::string Alphabet::file_text() const {
  std::string text;
  for (const std::string& character : characters_) text += character + "\n";
  return text;
}

Result<std::vector<int>> Alphabet::encode(std::string_view text) const {
  auto characters = OCRTUNE_TRY(split_characters(text));
  std::vector<int> classes;
  classes.reserve(characters.size());
  for (const std::string& character : characters) {
    const auto found = classes_.find(character);
    if (found == classes_.end()) {
      return Error{ErrorKind::invalid, "'" + character + "' is not in the alphabet"};
    }
    classes.push_back(found->second);
  }
  return classes;
}

std::string Alphabet::decode(const std::vector<int>& classes) const {
  std::string text;
  for (int label : classes) {
    if (label >= 1 && label < this->classes()) {
      text += characters_[static_cast<std::size_t>(label) - 1];
    }
  }
  return text;
}

std::string alphabet_path(const std::string& checkpoint) { return checkpoint + ".alphabet"; }

}  // namespace ocrtune
