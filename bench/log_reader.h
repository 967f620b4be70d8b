// Turns the lines that a foreign command prints into the events that our own workers send.
#pragma once

#include <string>
#include <vector>

#include "bench/events.h"

namespace ocrtune {

class LogReader {
 public:
  virtual ~LogReader() = default;
  // One line, as printed (any bytes). Appends what it means; most lines mean nothing. Steps carry
  // rank 0 and the samples of all ranks together.
  virtual void read_line(const std::string& line, double now_seconds,
                         std::vector<Event>& events) = 0;
  virtual std::string name() const = 0;
};

}  // namespace ocrtune
