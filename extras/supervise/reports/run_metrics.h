// A supervised run as numbers for Prometheus: a file for node_exporter's textfile collector.
//
// Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text-based, 0.0.4).
#pragma once

#include <cstdint>
#include <string>

namespace ocrtune {

struct RunMetrics {
  std::string run;  // label of every sample
  bool running = false;
  std::int64_t restarts = 0;
  std::int64_t progress_lines = 0;  // of the command, all attempts: each tells of a step or more
  double progress_lines_per_second = 0;  // over the last minute
  double last_progress_seconds = 0;      // since 1970; 0: none yet
  std::uint64_t memory_bytes = 0;        // of the process tree, shared memory included
};

std::string metrics_text(const RunMetrics& metrics);

}  // namespace ocrtune
