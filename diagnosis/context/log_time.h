// When a log line was written, as far as the line says.
#pragma once

#include <optional>
#include <string_view>

namespace ocrtune {

// Seconds since the start of its year of the first date and time in a line: 2024-09-13 15:19:38,123
// | 2024/09/13 15:19:38 | I0913 15:19:38.5 | E913 15:19:38.5 | 09-13 15:19:38 | Sep 13 15:19:38.
// The year is left out because glog
// and syslog do not write it.
std::optional<double> parse_log_time(std::string_view line);

}  // namespace ocrtune
