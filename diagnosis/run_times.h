// When a run lived, and whether what a kernel or a cluster noted falls into that time.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/log_scan.h"

namespace ocrtune {

struct RunSpan {
  std::optional<double> begin, end;  // seconds into the year, of the programs' own dated lines
};
RunSpan run_span(const std::vector<LogScan>& logs);

// What a kernel log without an out-of-memory kill is worth.
enum class KernelLog {
  silent,         // none is given, or it tells of such a kill
  clean,          // without one, but its dates do not show that it covers the end
  spans_the_end,  // without one from before the run's last line to after it
};
KernelLog kernel_log_of_the_end(const std::vector<LogScan>& logs);

}  // namespace ocrtune
