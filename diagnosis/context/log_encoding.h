// The characters of a log as UTF-8: what a Windows shell redirects is UTF-16, what a program prints
// on a Chinese Windows is GBK.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ocrtune {

class Utf16Decoder {
 public:
  // Nothing unless the first bytes of a log say UTF-16: by a mark, or by every other byte being 0.
  static std::optional<Utf16Decoder> of_first_bytes(std::string_view bytes);

  // UTF-8 of the next bytes. A character that they cut off waits for the next call.
  std::string decode(std::string_view bytes);

 private:
  explicit Utf16Decoder(bool big_endian) : big_endian_(big_endian) {}

  bool big_endian_;
  std::string rest_;  // of a character that was cut off
};

// The text with each line of GBK as UTF-8; nothing if it has none, or the C library no GB18030.
std::optional<std::string> without_gbk(std::string_view text);

// Without the sequences by which terminals colour.
std::string without_colours(std::string_view text);

}  // namespace ocrtune
