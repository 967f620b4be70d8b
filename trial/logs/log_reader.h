// Turns the lines that a user command prints into the events that our own workers send.
//
// One row for each dialect. A row finds the numbers in a line; what they mean for the whole setting
// (ranks, batch, the time between two lines) is worked out once, for all rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/ipc/events.h"

namespace ocrtune {

struct LogContext {
  int nproc = 1;
  int batch = 1;
  // Whose numbers a line gives: true multiplies by nproc. Unset: the row's own habit.
  std::optional<bool> per_rank;
  std::optional<int> print_interval;  // steps between two lines, where it is known
  bool from_start = false;  // the steps of the warm-up count, and by a counter those before a line
};

struct LogReaderRow {
  const char* name;
  const char* help;
  const char* example;       // a line that it reads
  bool per_rank;             // the habit of this dialect: a line speaks of one rank
  const char* pattern = "";  // as regex_dialect() takes it; empty: the dialect is written in C++
};

const std::vector<LogReaderRow>& log_reader_table();

class LogReader {
 public:
  virtual ~LogReader() = default;
  // One line, as printed (any bytes). Appends what it means; most lines mean nothing. Steps carry
  // rank 0 and the samples of all ranks together. A ReadyEvent says that what follows is measured:
  // it comes with the first line, and again where short steps filled half a second of warm-up; an
  // `anew` one where what was read before is found to be something else.
  virtual void read_line(const std::string& line, double now_seconds,
                         std::vector<Event>& events) = 0;
  // What a process of the command reports beside its lines: `hello` and `step`, the rank being its
  // process id.
  virtual void read_event(const Event& /*event*/, double /*now_seconds*/,
                          std::vector<Event>& /*events*/) {}
  virtual std::string name() const = 0;
  virtual std::int64_t known_lines() const = 0;  // so far, that held a number it knows
  // Where there is none: why, in one sentence, with an option that would read what was printed.
  virtual std::string why_unread(const std::string& followed_file) const = 0;
  // What was printed so far shows that no line will hold one.
  virtual bool is_hopeless() const = 0;
  virtual double counted_share() const { return 0; }  // as in Trial
  virtual double counts_to() const { return 0; }      // as in Trial
};

// What it reads are steps alone: a rate is that of steps where the batch is not known. A reader
// that finds either in its lines is taken to read samples.
bool reads_steps(const std::string& name);

// What it reads, such as the name of a file, counts once whichever process prints it.
bool counts_for_all(const std::string& name);

// `name`: a row's name, "torch:steps", "json-lines:KEY[:UNIT]", "metric:NAME[:UNIT]"
// (trial/logs/log_dialects.h), or "regex:PATTERN" with named groups (trial/logs/log_dialects.h).
// usage: no such row, a pattern that does not compile or names no known number.
Result<std::unique_ptr<LogReader>> make_log_reader(const std::string& name,
                                                   const LogContext& context);

}  // namespace ocrtune
