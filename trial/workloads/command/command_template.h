// A user's command with {placeholders}, filled for one setting; argv all the way, never a shell.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// Names in braces: {nproc}, and in {name?--flag=}. "{{" and its "}}" stand for the braces
// themselves; braces around anything but a name (JSON, a Python dict), and a shell's ${NAME}, stay
// as they are.
std::vector<std::string> placeholder_names(const std::string& text);

// usage: a name that `values` lacks, with the nearest one that it has.
Result<std::string> fill_placeholders(const std::string& text,
                                      const std::map<std::string, std::string>& values);

// Fills every argument. An argument that is nothing but one placeholder with an empty value is left
// out. {name?--flag=} is the flag with its value, and left out where the value is "none".
Result<std::vector<std::string>> fill_command(const std::vector<std::string>& command,
                                              const std::map<std::string, std::string>& values);

// The text as a template: filling it gives the text again, whatever stands in its braces.
std::string template_of(const std::string& text);

// A line as a shell would split it into words: blanks, '...', "..." and backslashes, which end no
// line; no variables, no globs. usage: a quote that is not closed.
Result<std::vector<std::string>> split_command(const std::string& line);

// What only a shell does something with, outside of quotes and placeholders: one of *?&|;<>$` or a
// word's first ~. '\0': there is none.
char shell_sign(const std::string& line);

}  // namespace ocrtune
