// How far one text is from another, in characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

std::u32string characters_of(std::string_view text);  // UTF-8; a byte that is none is U+FFFD
std::string utf8_of(std::u32string_view characters);
std::int64_t character_count(std::string_view text);

// Insertions, deletions and substitutions of characters between two texts. Beginning and end that
// are alike cost nothing, the rest the product of both lengths. Above 4,000 characters they are
// compared in pieces of so many, which may count more edits than there are.
std::int64_t character_distance(std::string_view a, std::string_view b);

// The sum over texts by their order; of lists of different length, that of the joined texts.
std::int64_t texts_distance(const std::vector<std::string>& a, const std::vector<std::string>& b);

// The composed form of letters with accents, kana with marks and Hangul, and half width of full
// width Latin: what programs vary between. Not the whole of Unicode's NFKC.
std::string composed_form(std::string_view text);

}  // namespace ocrtune
