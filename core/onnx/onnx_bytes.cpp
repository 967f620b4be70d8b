// Wire types of protobuf: 0 is a varint, 2 is a length and bytes, 5 is four bytes, the lowest first
// (protobuf.dev/programming-guides/encoding).
#include "core/onnx/onnx_bytes.h"

#include <bit>

namespace ocrtune::onnx {
namespace {

void append_varint(std::string& text, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) text += static_cast<char>(number | 0x80);
  text += static_cast<char>(number);
}

std::string head(int field, unsigned wire_type) {
  std::string text;
  append_varint(text, static_cast<std::uint64_t>(field) << 3 | wire_type);
  return text;
}

}  // namespace

std::string number_field(int field, std::uint64_t number) {
  std::string text = head(field, 0);
  append_varint(text, number);
  return text;
}

std::string bytes_field(int field, std::string_view bytes) {
  std::string text = head(field, 2);
  append_varint(text, bytes.size());
  return text.append(bytes);
}

std::string float_field(int field, float number) {
  std::string text = head(field, 5);
  const auto bits = std::bit_cast<std::uint32_t>(number);
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(bits >> shift & 0xFF);
  return text;
}

}  // namespace ocrtune::onnx
