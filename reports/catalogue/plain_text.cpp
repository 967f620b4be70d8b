// Every function makes valid UTF-8 of its text first (valid_utf8() of base/text.h), and works on
// code points from there on. The few ranges of Unicode that matter are written out here.
#include "reports/catalogue/plain_text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

// The code point at `at` of valid UTF-8, and its length in bytes.
char32_t code_point(std::string_view text, std::size_t at, std::size_t* length) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) {
    *length = 1;
    return lead;
  }
  if (lead < 0xE0) {
    *length = 2;
    return (lead & 0x1F) << 6 | (byte(1) & 0x3F);
  }
  if (lead < 0xF0) {
    *length = 3;
    return (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  }
  *length = 4;
  return (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

// The directional marks, embeddings, overrides and isolates of UAX #9.
bool turns_direction(char32_t point) {
  return point == 0x061C || point == 0x200E || point == 0x200F ||
         (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

// C1 (0x80 to 0x9F) counts too: a terminal may take 0x9B for the start of an escape sequence.
bool is_control(char32_t point) {
  return (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7F && point < 0xA0);
}

// East Asian Width W and F, in the ranges that texts of these users hold.
bool is_wide(char32_t point) {
  return (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
         (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
         (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
         (point >= 0xFFE0 && point <= 0xFFE6) || (point >= 0x1F300 && point <= 0x1FAFF) ||
         (point >= 0x20000 && point <= 0x3FFFD);
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Head and tail of valid UTF-8, cut between characters.
std::string shorten(std::string text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  // The share of the head is a guess.
  std::size_t head = max_bytes * 2 / 3;
  while (head > 0 && !starts_character(text[head])) --head;
  std::size_t tail = text.size() - (max_bytes - head);
  while (tail < text.size() && !starts_character(text[tail])) ++tail;
  return fmt::format("{} [... {} bytes ...] {}", text.substr(0, head), tail - head,
                     text.substr(tail));
}

}  // namespace

std::string plain_text(std::string_view text, std::size_t max_bytes) {
  const auto stays = [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; };  // of ASCII
  if (text.size() <= max_bytes && std::all_of(text.begin(), text.end(), stays)) {
    return std::string(text);
  }
  const std::string valid = shorten(valid_utf8(text), max_bytes);
  std::string out;
  out.reserve(valid.size());
  for (std::size_t at = 0, length = 0; at < valid.size(); at += length) {
    const char32_t point = code_point(valid, at, &length);
    if (is_control(point)) {
      // "\r\n" is how some programs end a line; a lone "\r" redraws a progress bar.
      if (point != '\r') out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(point));
      if (point == '\r' && (at + 1 >= valid.size() || valid[at + 1] != '\n')) out += '\n';
    } else if (turns_direction(point)) {
      out += fmt::format("<U+{:04X}>", static_cast<std::uint32_t>(point));
    } else {
      out.append(valid, at, length);
    }
  }
  return out;
}

std::string plain_line(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (const char c : plain_text(text, max_bytes)) {
    if (c == '\n') {
      out += " / ";
    } else {
      out += c == '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string html_text(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (const char c : plain_text(text, max_bytes)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string script_json(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  std::size_t copied = 0;
  const auto replace = [&](std::size_t at, std::size_t bytes, const std::string& by) {
    out.append(json, copied, at - copied).append(by);
    copied = at + bytes;
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '<' || c == '>' || c == '&') {
      replace(i, 1, fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
    } else if (c == '\xE2') {
      const std::string_view separator = json.substr(i, 3);
      if (separator == "\xE2\x80\xA8") replace(i, 3, "\\u2028");
      if (separator == "\xE2\x80\xA9") replace(i, 3, "\\u2029");
    }
  }
  out.append(json, copied);
  return out;
}

// A combining mark counts as one column here, as every character does that is not wide.
int display_width(std::string_view text) {
  const std::string valid = valid_utf8(text);
  int width = 0;
  for (std::size_t at = 0, length = 0; at < valid.size(); at += length) {
    width += is_wide(code_point(valid, at, &length)) ? 2 : 1;
  }
  return width;
}

std::string cut_to_width(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  const std::string valid = valid_utf8(text);
  std::string out;
  int width = 0;
  for (std::size_t at = 0, length = 0; at < valid.size(); at += length) {
    width += is_wide(code_point(valid, at, &length)) ? 2 : 1;
    if (width > std::max(columns - 3, 0)) break;
    out.append(valid, at, length);
  }
  return out + std::string("...").substr(0, static_cast<std::size_t>(std::clamp(columns, 0, 3)));
}

std::string padded_to(const std::string& text, int columns, bool in_front) {
  const std::string fill(static_cast<std::size_t>(std::max(columns - display_width(text), 0)), ' ');
  return in_front ? fill + text : text + fill;
}

}  // namespace ocrtune
