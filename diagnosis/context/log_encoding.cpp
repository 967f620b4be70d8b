// iconv(3) does the conversion; the work here is to recognise the encoding. UTF-16 is told from the
// first bytes of the file, GBK line by line, for a log may hold lines of several programs.
#include "diagnosis/context/log_encoding.h"

#include <iconv.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace ocrtune {
namespace {

// Two characters of GB2312 in a row: hardly any Latin text has four such bytes together.
bool looks_like_gbk(std::string_view text) {
  constexpr int kRun = 4;
  int run = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::uint64_t word = 0x80;
    if (run == 0 && text.size() - i >= sizeof word) std::memcpy(&word, &text[i], sizeof word);
    if ((word & 0x8080808080808080U) == 0) {  // eight letters of ASCII
      i += sizeof word - 1;
      continue;
    }
    run = static_cast<unsigned char>(text[i]) >= 0xA1 ? run + 1 : 0;
    if (run == kRun) return true;
  }
  return false;
}

// Both are needed: valid UTF-8 of Chinese text has runs of high bytes as well.
bool is_gbk(std::string_view text) { return looks_like_gbk(text) && valid_utf8(text) != text; }

// iconv(3) of one encoding.
class Converter {
 public:
  explicit Converter(const char* encoding) : handle_(::iconv_open("UTF-8", encoding)) {}
  ~Converter() {
    if (open()) ::iconv_close(handle_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // UTF-8 of the characters up to one that is cut off or none of the encoding; `bytes` keeps those.
  std::string take(std::string& bytes) {
    if (!open()) return "";
    std::string out(bytes.size() * 2 + 8, '\0');
    char *from = bytes.data(), *to = out.data();
    std::size_t left = bytes.size(), room = out.size();
    // Back to the initial state after an earlier text.
    ::iconv(handle_, nullptr, nullptr, nullptr, nullptr);
    ::iconv(handle_, &from, &left, &to, &room);
    bytes.erase(0, bytes.size() - left);
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
  constexpr std::size_t kUnit = 2, kPair = 4;
  constexpr int kMaxHalves = 16;  // of pairs without the other: more are no text
  rest_ += bytes;
  Converter converter(big_endian_ ? "UTF-16BE" : "UTF-16LE");
  std::string out = converter.take(rest_);
  // What stops iconv in the middle is half of a surrogate pair: it is skipped.
  for (int halves = 1; rest_.size() >= kPair; ++halves) {
    rest_.erase(0, halves < kMaxHalves ? kUnit : rest_.size() / kUnit * kUnit);
    out += converter.take(rest_);
  }
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (starts_with(out, kMark)) out.erase(0, kMark.size());
  return out;
}

std::optional<std::string> without_gbk(std::string_view text) {
  if (!is_gbk(text)) return std::nullopt;
  Converter converter("GB18030");
  std::string out;
  out.reserve(text.size() * 2);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string line(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    if (is_gbk(line)) {
      std::string bytes = line, read = converter.take(bytes);
      // All of the line was read; else it stays as it is.
      if (bytes.empty()) line = std::move(read);
    }
    out += line;
  }
  return out;
}

std::string without_colours(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    } else if (text[i] != '\x1b') {
      out += text[i];
    }
  }
  return out;
}

}  // namespace ocrtune
