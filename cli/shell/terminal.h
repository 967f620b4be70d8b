// What the terminal at the other end can do: is it one, how wide, may it be coloured.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "reports/catalogue/phrases.h"
#include "reports/catalogue/reasons.h"

namespace ocrtune {

bool is_terminal(std::FILE* stream);
bool reader_is_gone(std::FILE* stream);  // a pipe that nobody reads any more
// Columns of the terminal, else COLUMNS, else 80; never below 30.
int terminal_width(std::FILE* stream);
int terminal_height(std::FILE* stream);  // lines; 0 where there is no terminal
int console_width(std::FILE* stream);    // the terminal's; no limit where there is none
int help_width(std::FILE* stream);       // the terminal's, at most 100; 100 where there is none
bool may_redraw(std::FILE* stream);      // a terminal that knows escapes (TERM is not dumb)
// Only on a terminal, unless NO_COLOR is set to anything (https://no-color.org) or TERM is dumb.
bool may_colour(std::FILE* stream);
// Chinese where LC_ALL, LC_MESSAGES or LANG, the first that is set, begins with "zh".
Language terminal_language();
// A line on stderr. What it holds of others, such as names of files and of their programs, is shown
// and obeyed by no terminal (plain_line).
void say_line(const std::string& line);
// A sentence as the catalogue has it in that language; the same with the values of its holes.
std::string terminal_text(std::string_view english);
std::string terminal_text(std::string_view english, const std::vector<std::string>& values);

}  // namespace ocrtune
