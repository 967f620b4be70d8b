// One line at the bottom of the terminal while long work goes on: how far, best so far, time left.
//
// Written to stderr; the answer on stdout is never touched. Where nothing can be redrawn (a pipe,
// TERM=dumb) whole lines are printed, and few of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/stats.h"

namespace ocrtune {

// Work of a known number of equal steps. Redrawn a few times a second; a line each 10 s elsewhere.
class Progress {
 public:
  Progress(std::string title, std::int64_t total);  // "drawing"
  ~Progress();                                      // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done, const std::string& remark = "");

 private:
  std::string title_;
  std::int64_t total_;
  bool terminal_;
  bool shown_ = false;
  double started_, last_;
};

// Where a search, or other work, stands.
struct SearchState {
  int trial = 0;               // the one that runs now, from 1; 0: there are none
  Interval best;               // samples per second; all zero before the first success
  double seconds_left = 0;     // of the budget
  double budget_seconds = 0;   // 0: unknown
  std::string phase, setting;  // "race"; knobs of the current trial; may be empty
  const char* unit = "samples/s";
  double seconds = 0;             // so far; shown where no budget is known
  std::string best_setting = {};  // the knobs of the best; may be empty
};

// "trial 12 [#####.....] 1 min 20 s left | best 212 (207..216) samples/s with nproc=4 | race
// nproc=2", cut to `width`: what is cut first stands last.
std::string search_text(const SearchState& state, int width);

// One line at the bottom of a terminal, drawn anew each second so that the time left goes down, and
// rows above it.
// Where nothing can be redrawn (a pipe, TERM=dumb) only notes are printed. For one thread; it has
// one more.
class SearchProgress {
 public:
  explicit SearchProgress(std::FILE* stream = stderr);
  ~SearchProgress();  // clears the line
  SearchProgress(const SearchProgress&) = delete;
  SearchProgress& operator=(const SearchProgress&) = delete;

  void show(const SearchState& state);
  // Replaces the rows, each of at most width() columns; they are drawn with the next line.
  void set_rows(std::vector<std::string> rows);
  int rows_that_fit() const;            // beside as much of the text above; 0: none
  int width() const;                    // columns of a row
  void note(const std::string& line);   // a line that stays, above the progress line
  void plain(const std::string& line);  // a line for those who see no progress line; else nothing
  void clear();                         // takes the line away before an answer is printed

 private:
  void draw(double seconds_since_shown);
  void erase();
  std::string to_first_row() const;  // moves the cursor to the first that is drawn
  void tick();

  std::FILE* stream_;
  bool enabled_, colour_;
  std::mutex mutex_;  // guards what follows, and the stream
  std::condition_variable changed_;
  SearchState state_;
  std::vector<std::string> rows_;
  std::size_t drawn_rows_ = 0;
  double shown_at_ = 0;
  bool shown_ = false, ended_ = false;
  std::thread ticker_;
};

// Work of unknown length: "asking 12 hosts | 8.0 s", drawn anew each second; elsewhere "asking 12
// hosts" once. Nothing at all for work that ends within 2 s.
class WorkLine {
 public:
  // `silent`: notes alone, where the answer is a document.
  explicit WorkLine(std::string what, bool silent = false);
  ~WorkLine();
  WorkLine(const WorkLine&) = delete;
  WorkLine& operator=(const WorkLine&) = delete;

  void note(const std::string& line) { line_.note(line); }

 private:
  SearchProgress line_;
  std::mutex mutex_;  // guards ended_
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread waiter_;
};

}  // namespace ocrtune
