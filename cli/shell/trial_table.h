// The settings that a search has run, best first, one row each, for the foot of a terminal.
//
//   nproc=2 threads=1   ##########=-     226 samples/s  1.91x  918 MiB  3 trials
//   nproc=1 threads=2   #####            118 samples/s  start  633 MiB
//
// A bar is full at the best rate: '#' up to the lowest trial of the setting, '=' up to the mean of
// its trials, '-' up to the highest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trial/trial.h"

namespace ocrtune {

class TrialTable {
 public:
  TrialTable(Knobs start, std::string unit);

  void add(const Trial& trial);
  // At most `most` rows of at most `width` columns: the best settings, and the start among them.
  // Fewer than two settings make no table.
  std::vector<std::string> rows(int most, int width) const;

 private:
  struct Row {
    Knobs knobs;
    std::vector<double> rates;  // of its trials that worked, samples per second
    std::uint64_t peak_bytes = 0;
    std::string failure;  // of the last trial, where none worked
    double mean_rate() const;
  };
  std::string text_of(const Row& row, double best, int setting_width, int width) const;

  Knobs start_;
  std::string unit_;
  std::vector<Row> rows_;
};

}  // namespace ocrtune
