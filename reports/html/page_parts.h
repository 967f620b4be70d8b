// The fixed texts of the report page: style sheet, scripts and the chart library, embedded at build
// time from reports/page/ and the distribution (cmake/page.cmake).
#pragma once

#include <string_view>

namespace ocrtune {

// "report.css", "report.js", "trials.js", "charts.js" (ours) or "chart.js" (the library); empty
// when this build has no such part.
std::string_view page_part(std::string_view name);

}  // namespace ocrtune
