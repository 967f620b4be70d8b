// Environment variables as a map, so that tests and saved machines bring their own; this host's
// name.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ocrtune {

using Environment = std::map<std::string, std::string>;

Environment process_environment();                      // of this process
Environment parse_environment(std::string_view block);  // as in /proc/PID/environ: NUL-separated

// The value, or "" when it is not set.
std::string environment_value(const Environment& environment, const std::string& name);

std::string host_name();  // of this machine, as gethostname(2) has it

}  // namespace ocrtune
