// Names are part of the interface: alerts of `plan` (plan_watches.cpp) ask for them.
#include "extras/supervise/reports/run_metrics.h"

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

std::string label_value(const std::string& text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string metrics_text(const RunMetrics& metrics) {
  std::string text;
  const auto add = [&](const char* name, const char* type, const char* help, double value) {
    text +=
        fmt::format("# HELP ocrtune_run_{0} {1}\n# TYPE ocrtune_run_{0} {2}\n", name, help, type);
    text += fmt::format("ocrtune_run_{}{{run=\"{}\"}} {}\n", name, label_value(metrics.run), value);
  };
  add("up", "gauge", "1 while the command runs, 0 once the run has ended.",
      metrics.running ? 1 : 0);
  add("restarts_total", "counter", "Attempts after the first one.",
      static_cast<double>(metrics.restarts));
  add("progress_lines_total", "counter", "Lines of progress that the command has printed.",
      static_cast<double>(metrics.progress_lines));
  add("progress_lines_per_second", "gauge", "The same per second over the last minute.",
      metrics.progress_lines_per_second);
  if (metrics.last_progress_seconds > 0) {
    add("last_progress_timestamp_seconds", "gauge", "When the last line of progress was printed.",
        metrics.last_progress_seconds);
  }
  add("memory_bytes", "gauge", "Memory of the process tree, shared memory included.",
      static_cast<double>(metrics.memory_bytes));
  return text;
}

}  // namespace ocrtune
