// The ranks that gave up waiting for the others, and what these were doing meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/log_scan.h"

namespace ocrtune {

struct Waiting {
  int file = -1;  // index of the log
  std::optional<int> rank;
  LogLine line;                          // where it gave up
  std::string operation;                 // "ALLREDUCE"; empty: unknown
  std::optional<std::int64_t> number;    // of the collective, in its group
  std::optional<std::int64_t> elements;  //
  std::optional<double> seconds;         // how long it had waited
};

// Each rank, or log, once.
std::vector<Waiting> waiting_ranks(const std::vector<LogScan>& logs);

// The last thing that a rank did alone while `waiting` waited; null: none. `file`: its log.
const Finding* busy_alone(const std::vector<LogScan>& logs, const std::vector<Waiting>& waiting,
                          int* file);

}  // namespace ocrtune
