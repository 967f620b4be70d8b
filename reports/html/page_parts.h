// The fixed texts of the report page: style sheet and scripts, embedded at build time from
// reports/page/ (cmake/page.cmake).
#pragma once

#include <string_view>

namespace ocrtune {

// "report.css", "report.js" or "trials.js"; empty: no such part.
std::string_view page_part(std::string_view name);

}  // namespace ocrtune
