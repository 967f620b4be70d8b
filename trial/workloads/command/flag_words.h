// Flags in a command's words: "--flag value" and "--flag=value". A name without a dash in front is
// a key, as Hydra and the -o of OCR trainers take them: "Train.batch=8". "--jobs|-j" is one flag
// with two spellings, of which the first is written where the command has none.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ocrtune {

// Of the first of these flags, each in one spelling, that the command has.
std::optional<std::string> first_flag_value(const std::vector<std::string>& command,
                                            const std::vector<std::string>& flags);
std::optional<std::string> flag_value(const std::vector<std::string>& command,
                                      const std::string& flag);

// The place behind the first word (or path to it) of `behind` that the command has, else its end.
std::size_t place_behind(const std::vector<std::string>& command,
                         const std::vector<std::string>& behind);

// A flag of `behind` has a place: the command has one of its words, or the first is a flag that can
// be added. True where `behind` is empty.
bool has_place(const std::vector<std::string>& command, const std::vector<std::string>& behind);

void put_behind(std::vector<std::string>& command, const std::string& word,
                const std::vector<std::string>& behind);

// Gives the flag this value, in the form that the command has. Where it is absent it is put behind
// `behind`; a key's first word of `behind` is written first where the command has none and it is a
// flag (-o). Without a value it is a switch.
void set_flag(std::vector<std::string>& command, const std::string& flag, const std::string& value,
              const std::vector<std::string>& behind = {});

}  // namespace ocrtune
