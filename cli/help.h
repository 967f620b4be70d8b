// The text of --help and `ocrtune help`, made from the command table and the flags.
#pragma once

#include <string>

#include "cli/commands.h"

namespace ocrtune {

std::string program_help(int width);  // every command by section, one line each
// Usage, arguments, options with their defaults, examples and notes of one command; wrapped at
// `width` columns (60 at least) with a hanging indent.
std::string command_help(const Command& command, const Flags& flags, int width);

std::string version_text();  // what `ocrtune --version` prints

// "--budget DURATION", "--peak-factor, --peak X", "[RUN]": as help and the manual name a flag.
std::string flag_head(const Flag& flag);
std::string flag_help(const Flag& flag);  // help, whether it may be repeated, and the default
std::string usage_of(const Command& command, const Flags& flags);  // "ocrtune show [OPTIONS] [RUN]"

}  // namespace ocrtune
