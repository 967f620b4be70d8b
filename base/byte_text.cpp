// One pass in each direction, without a table. Well-formed UTF-8 is as RFC 3629 has it: no overlong
// forms, no surrogates, nothing beyond U+10FFFF.
#include "base/byte_text.h"

namespace ocrtune {
namespace {

// U+EF80 to U+EFFF are EE BE 80 to EE BF BF.
bool is_carrier(std::string_view character) {
  return character.size() == 3 && character[0] == '\xEE' &&
         (character[1] == '\xBE' || character[1] == '\xBF');
}

// U+EF00 + byte, of which two bits go into the second byte and six into the third. Only bytes from
// 0x80 on come here: lower ones are characters of their own.
void add_carrier(std::string& text, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  text += '\xEE';
  text += value < 0xC0 ? '\xBE' : '\xBF';
  text += static_cast<char>(0x80 | (value & 0x3F));
}

}  // namespace

// Length of the valid UTF-8 sequence at the start of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // The lead byte alone does not bound these: the second byte's range is narrower behind it.
  const unsigned second = byte(1);
  if (lead == 0xE0 && second < 0xA0) return 0;  // overlong
  if (lead == 0xED && second > 0x9F) return 0;  // surrogate
  if (lead == 0xF0 && second < 0x90) return 0;  // overlong
  if (lead == 0xF4 && second > 0x8F) return 0;  // beyond U+10FFFF
  return length;
}

std::string utf8_of_bytes(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      add_carrier(text, bytes[0]);
      bytes.remove_prefix(1);
      continue;
    }
    const std::string_view character = bytes.substr(0, length);
    // Carriers of the input are escaped too, else the way back would turn them into single bytes.
    if (is_carrier(character)) {
      for (const char byte : character) add_carrier(text, byte);
    } else {
      text += character;
    }
    bytes.remove_prefix(length);
  }
  return text;
}

std::string bytes_of_utf8(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    // No other check: text that utf8_of_bytes() did not write passes as it is.
    if (is_carrier(text.substr(at, 3))) {
      const int high = text[at + 1] == '\xBE' ? 0x80 : 0xC0;
      bytes += static_cast<char>(high | (text[at + 2] & 0x3F));
      at += 3;
    } else {
      bytes += text[at++];
    }
  }
  return bytes;
}

}  // namespace ocrtune
