// The text of --help and `ocrtune help`, made from the command table and the flags.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands.h"
#include "reports/catalogue/reasons.h"

namespace ocrtune {

// The commands by section, one line each; `all`: those that most people never need too.
std::string program_help(int width, bool all = false, Language language = Language::english);
// The commands of kEngineGroup or kHostsGroup.
std::string group_help(std::string_view group, int width, Language language = Language::english);
// Usage, arguments, options with their defaults, examples and notes of one command; wrapped at
// `width` columns (30 at least) with a hanging indent.
// `all`: every option, where the command has more than a few.
std::string command_help(const Command& command, const Flags& flags, int width, bool all = true,
                         Language language = Language::english);

std::string version_text();  // what `ocrtune --version` prints

// "--budget DURATION", "--peak-factor, --peak X", "[RUN]": as help and the manual name a flag.
std::string flag_head(const Flag& flag);
std::string flag_help(const Flag& flag);  // help, whether it may be repeated, and the default
std::string usage_of(const Command& command, const Flags& flags);  // "ocrtune show [OPTIONS] [RUN]"

}  // namespace ocrtune
