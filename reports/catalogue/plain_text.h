// Text from the machine, the log or the user, made safe to show: on a terminal, in HTML, in script.
//
// Control and escape bytes, bytes that are not UTF-8 and the characters that turn the reading
// direction around (Unicode TR36, "bidirectional text spoofing") become visible marks, so that what
// a reader sees is what is there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ocrtune {

// Tabs and line feeds stay; other control characters become "\x1b", direction marks "<U+202E>".
// Beyond `max_bytes` the middle is cut out and its size stated: heads and tails tell the most.
std::string plain_text(std::string_view text, std::size_t max_bytes = 65536);

// plain_text on a single line: line feeds become " / ", tabs blanks.
std::string plain_line(std::string_view text, std::size_t max_bytes = 4096);

// plain_text with & < > " ' escaped: right inside elements and inside quoted attributes.
std::string html_text(std::string_view text, std::size_t max_bytes = 65536);

// A JSON document that may stand inside a script element: no "<", ">", "&", U+2028 or U+2029.
std::string script_json(std::string_view json);

// Columns that the text takes on a terminal: CJK and full-width characters take two.
int display_width(std::string_view text);

// Cut to `columns` on a terminal, with "..." at the end when something was cut.
std::string cut_to_width(std::string_view text, int columns);

// With blanks up to `columns` behind it, or in front of it.
std::string padded_to(const std::string& text, int columns, bool in_front = false);

}  // namespace ocrtune
