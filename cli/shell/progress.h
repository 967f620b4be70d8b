// One line at the bottom of the terminal while long work goes on: how far, best so far, time left.
//
// Written to stderr and only where that is a terminal; the answer on stdout is never touched.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/stats.h"

namespace ocrtune {

// Work of a known number of equal steps. Redrawn a few times a second.
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
  double started_, last_ = -1;
};

// Where a search stands.
struct SearchState {
  int trial = 0;         // the one that runs now, from 1
  int trials_about = 0;  // 0: cannot be said yet
  Interval best;         // samples per second; all zero before the first success
  double seconds_left = 0;
  std::string phase;    // "ladder", "race", ...; may be empty
  std::string setting;  // knobs of the current trial
};

// "trial 12 of about 40 | best 212 (207..216)/s | 1 min 20 s left | race nproc=2 threads=4", cut to
// `width`: what is cut first stands last.
std::string search_text(const SearchState& state, int width);

class SearchProgress {
 public:
  explicit SearchProgress(std::FILE* stream = stderr);
  ~SearchProgress();  // clears the line
  SearchProgress(const SearchProgress&) = delete;
  SearchProgress& operator=(const SearchProgress&) = delete;

  void show(const SearchState& state);  // nothing without a terminal
  // A line that stays, above the progress line; printed without a terminal too.
  void note(const std::string& line);
  void clear();  // takes the line away before an answer is printed

 private:
  std::FILE* stream_;
  bool enabled_, colour_;
  bool shown_ = false;
};

}  // namespace ocrtune
