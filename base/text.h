// Small words: split, trim, and numbers with units as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ocrtune {

std::string_view trim(std::string_view text);                    // without blanks at both ends
std::vector<std::string> split(std::string_view text, char by);  // "a,,b" -> {"a", "", "b"}
std::vector<std::string> words(std::string_view text);           // split at runs of blanks
std::string join(const std::vector<std::string>& parts, std::string_view between);
bool starts_with(std::string_view text, std::string_view prefix);
bool ends_with(std::string_view text, std::string_view suffix);
std::string lower(std::string_view text);  // ASCII only
void replace_all(std::string& text, std::string_view from, std::string_view to);

// The whole text must be the number; errors are of kind usage and quote the text.
Result<std::int64_t> parse_integer(std::string_view text);
Result<double> parse_number(std::string_view text);

// "512", "64M", "1.5GiB", "2 GB": G and GiB are 2^30, GB is 10^9.
Result<std::uint64_t> parse_bytes(std::string_view text);
// "90", "90s", "5m", "1h30m", "250ms" -> seconds, above zero and ten years at most.
Result<double> parse_duration(std::string_view text);

std::string format_bytes(std::uint64_t bytes);  // "23.5 GiB", "64.0 MiB", "512 B"
std::string format_duration(double seconds);    // "2 min 03 s", "8.4 s", "12.4 ms", "3.1 us"
std::string format_count(double value);         // three or four digits: "8.42", "123", "12.3 k"
std::string format_percent(double fraction);    // 0.234 -> "23.4 %"

// The text with every byte that is not UTF-8 replaced by U+FFFD, so JSON and HTML accept it.
std::string valid_utf8(std::string_view text);

// For a message: the first and the last words of a line of more than `most` bytes, " ... " between;
// a speed often stands at the end. As valid_utf8().
std::string quoted_line(std::string_view line, std::size_t most);

// An argument as a POSIX shell would need it typed: quoted only where necessary.
std::string shell_quote(std::string_view argument);
// A name that a shell can assign to; anything else would be run as a command.
bool is_variable_name(std::string_view name);
std::string shell_join(const std::vector<std::string>& arguments);
// A command line with the control characters of its quoted words as escapes, a line feed as "\n"
// within $'...': one line that bash, zsh and a sh of POSIX 2024 read as they read `command`.
std::string shell_line(std::string_view command);

// False: it holds a byte that no text holds and no terminal takes, such as NUL.
bool is_text(std::string_view line);
// The text with a mark, "(not text, size in bytes: 4096)", in place of lines that are none.
std::string without_binary(std::string_view text);

// The names nearest in spelling (Levenshtein distance at most 2), for "did you mean".
std::string nearest_name(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace ocrtune
