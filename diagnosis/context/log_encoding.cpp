#include "diagnosis/context/log_encoding.h"

#include <iconv.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace ocrtune {
namespace {

void append_utf8(std::uint32_t code, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xE0 | code >> 12);
    } else {
      put(0xF0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3F));
    }
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

// How many bytes the character at the start of text has; 0: it is no UTF-8.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80                       ? 1
                             : byte(0) >= 0xC2 && byte(0) <= 0xDF ? 2
                             : byte(0) >= 0xE0 && byte(0) <= 0xEF ? 3
                             : byte(0) >= 0xF0 && byte(0) <= 0xF4 ? 4
                                                                  : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// Two characters of GB2312 in a row: hardly any Latin text has four such bytes together.
bool looks_like_gbk(std::string_view line) {
  constexpr int kRun = 4;
  int run = 0;
  for (const char c : line) {
    run = static_cast<unsigned char>(c) >= 0xA1 ? run + 1 : 0;
    if (run == kRun) return true;
  }
  return false;
}

class GbkReader {
 public:
  GbkReader() : handle_(::iconv_open("UTF-8", "GB18030")) {}
  ~GbkReader() {
    if (open()) ::iconv_close(handle_);
  }
  GbkReader(const GbkReader&) = delete;
  GbkReader& operator=(const GbkReader&) = delete;

  // Nothing: some byte of it is no GBK.
  std::optional<std::string> read(std::string_view line) {
    std::string out(line.size() * 2 + 8, '\0');
    std::string in(line);
    char *from = in.data(), *to = out.data();
    std::size_t left = in.size(), room = out.size();
    if (!open() || ::iconv(handle_, &from, &left, &to, &room) == static_cast<std::size_t>(-1)) {
      if (open()) ::iconv(handle_, nullptr, nullptr, nullptr, nullptr);
      return std::nullopt;
    }
    out.resize(out.size() - room);
    return out;
  }

 private:
  // POSIX says (iconv_t)-1.
  bool open() const {
    return handle_ != reinterpret_cast<iconv_t>(-1);  // NOLINT(performance-no-int-to-ptr)
  }

  iconv_t handle_;
};

}  // namespace

std::optional<Utf16Decoder> Utf16Decoder::of_first_bytes(std::string_view bytes) {
  if (starts_with(bytes, "\xFF\xFE")) return Utf16Decoder(false);
  if (starts_with(bytes, "\xFE\xFF")) return Utf16Decoder(true);
  constexpr std::size_t kLooked = 256, kFewest = 16;
  bytes = bytes.substr(0, kLooked);
  std::size_t zeros[2] = {0, 0};
  for (std::size_t i = 0; i < bytes.size(); ++i) zeros[i % 2] += bytes[i] == '\0';
  const std::size_t many = bytes.size() / 4;  // half of all high bytes
  if (bytes.size() < kFewest) return std::nullopt;
  if (zeros[0] == 0 && zeros[1] >= many) return Utf16Decoder(false);
  if (zeros[1] == 0 && zeros[0] >= many) return Utf16Decoder(true);
  return std::nullopt;
}

std::string Utf16Decoder::decode(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (!half_unit_) {
      half_unit_ = byte;
      continue;
    }
    const std::uint32_t first = *half_unit_;
    half_unit_.reset();
    const std::uint32_t unit = big_endian_ ? first << 8 | byte : first | std::uint32_t{byte} << 8;
    if (unit == 0xFEFF || unit == 0) continue;
    if (unit >= 0xD800 && unit < 0xDC00) {
      high_surrogate_ = unit;
    } else if (unit >= 0xDC00 && unit < 0xE000) {
      if (high_surrogate_ != 0) {
        append_utf8(0x10000 + ((high_surrogate_ - 0xD800) << 10) + (unit - 0xDC00), out);
      }
      high_surrogate_ = 0;
    } else {
      append_utf8(unit, out);
    }
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::uint64_t word = 0;
    if (text.size() >= sizeof word) std::memcpy(&word, text.data(), sizeof word);
    if (text.size() >= sizeof word && (word & 0x8080808080808080U) == 0) {
      text.remove_prefix(sizeof word);
      continue;
    }
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::optional<std::string> without_gbk(std::string_view text) {
  if (is_utf8(text) || !looks_like_gbk(text)) return std::nullopt;
  GbkReader reader;
  std::string out;
  out.reserve(text.size() * 2);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end + 1);
    std::optional<std::string> read;
    if (!is_utf8(line) && looks_like_gbk(line)) read = reader.read(line);
    out += read ? *read : line;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace ocrtune
