// Bytes of any kind, such as a path in an old encoding, carried in text that must be UTF-8 (JSON).
//
// A byte that is no UTF-8 becomes U+EF00 + byte, of the private use area; those characters' own
// bytes are written in the same way, so that every string comes back as it was.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ocrtune {

std::string utf8_of_bytes(std::string_view bytes);
std::string bytes_of_utf8(std::string_view text);

// Bytes of the UTF-8 character at the beginning of `text`, which is not empty; 0: it is none.
std::size_t utf8_length(std::string_view text);

}  // namespace ocrtune
