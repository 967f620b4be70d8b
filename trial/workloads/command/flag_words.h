// Flags in a command's words: "--flag value" and "--flag=value".
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ocrtune {

std::optional<std::string> flag_value(const std::vector<std::string>& command,
                                      const std::string& flag);

// Puts the word behind the first word (or path to it) of `behind` that the command has, else at its
// end.
void put_behind(std::vector<std::string>& command, const std::string& word,
                const std::vector<std::string>& behind);

// Gives the flag this value, in the form that the command has. Where it is absent it is put behind
// the first word (or path to it) of `behind` that the command has, else at its end.
void set_flag(std::vector<std::string>& command, const std::string& flag, const std::string& value,
              const std::vector<std::string>& behind = {});

}  // namespace ocrtune
