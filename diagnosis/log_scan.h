// Reads a log of any size once, in bounded memory, and keeps the lines that bear on a failure.
//
// Matching is RE2's: a literal prefilter over whole blocks, then the patterns whose literals occur.
// Binary bytes, CRLF, progress bars with bare CR and ANSI colours are taken as they come.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnosis/context/line_origin.h"
#include "diagnosis/context/printed_blocks.h"
#include "diagnosis/context/source.h"
#include "diagnosis/context/step_costs.h"
#include "diagnosis/context/tracebacks.h"
#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

struct LogLine {
  std::int64_t number = 0;     // from 1, counted at '\n'
  std::string text;            // valid UTF-8, colours removed, at most 500 bytes
  std::optional<double> when;  // seconds into the year, from the line or the last dated one before
  bool dated = false;          // from the line itself
  RaisedAt raised;             // of an exception below a traceback
};

// All lines of one file, and of one rank where the lines name theirs, that match one signature.
struct Finding {
  const SignatureRow* signature = nullptr;
  std::optional<int> rank;  // "[rank2]: ...", else the file's
  std::string actor;        // the process that wrote it, where the line names one without a rank
  std::int64_t count = 0;
  LogLine first, last;
  std::vector<std::string> captures;  // of the first line
  std::vector<std::string> subjects;  // distinct first captures, at most 16: pids or ranks
  std::int64_t progress_after = 0;    // progress lines of this file after `last`
  std::int64_t served_after = 0;      // of these, answers of a server
  std::int64_t lines_after = 0;
  int run = 0;               // of the file, counted from 0
  bool earlier_run = false;  // a later run of the same file has more to say
  bool over = false;         // of an earlier run, or the work went on after it
};

struct LogScan {
  std::string file;
  std::string described;    // the object that `kubectl describe` tells of; empty: none
  std::optional<int> rank;  // workerlog.3, rank_3.txt, 3/stderr.log
  std::int64_t lines = 0;
  std::int64_t bytes = 0;
  std::int64_t progress_lines = 0;
  std::int64_t served_lines = 0;  // of these, answers of a server: "200 OK", "succeeded in"
  LogLine last_progress;
  LogLine last_line;                 // that is not blank; dated like any other line
  std::optional<double> first_when;  // of the first dated line
  StepCosts costs;
  SourceKind kind = SourceKind::program;
  std::uint32_t programs = 0;     // bits of Program
  bool finished = false;          // the log says that the run came to its end
  bool succeeded = false;         // and what started the run says that it ended well
  bool exited_with_zero = false;  // its last word was an error, and its exit code 0
  bool cut_off = false;           // it ends in the middle of a line
  // Of the configuration that PaddleOCR prints at its start: "num_workers" -> "8", of Train.
  std::map<std::string, std::string> config;
  std::optional<LogLine> rubbish;            // a line of what it read, where that is no language
  std::vector<FirstFailure> first_failures;  // as launchers report them
  std::vector<Child> children;               // as launchers and they themselves name them
  std::vector<std::string> listed;           // objects of a table, such as that of kubectl get pods
  std::vector<Finding> findings;
};

// A finding and the log that it stands in.
struct Seen {
  int file = -1;
  const Finding* finding = nullptr;
};

// What the last run of each log says in lines of these signatures, a list between blanks.
std::vector<Seen> seen(const std::vector<LogScan>& logs, std::string_view signatures);

class LogScanner {
 public:
  explicit LogScanner(std::string file);
  ~LogScanner();

  void feed(std::string_view bytes);
  LogScan finish();  // once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Does the line tell that a step or an epoch is done? By the words that training programs use.
bool is_progress_line(std::string_view line);

LogScan scan_text(const std::string& file, std::string_view text);
// "-" is standard input. Polls interrupted(). A file that is compressed, or UTF-16 as a Windows
// shell writes it, is an error that says how to read it.
Result<LogScan> scan_log(const std::string& path);

// Log files in a run's folder, at most 4 levels down and 2,000 in number, sorted: workerlog.N,
// *.log, *.out, *.err, *.txt, stdout, stderr, journal. Launcher dumps of the environment are left
// out.
Result<std::vector<std::string>> find_logs(const std::string& directory);

}  // namespace ocrtune
