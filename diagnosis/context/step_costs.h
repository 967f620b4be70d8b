// What a step costs, by the numbers in a trainer's own lines: samples a second, and the share of
// its time that it waits for data. The first and the last of them, because slowness may grow.
//
// Progress bars of different lengths (training, evaluation, a conversion of the data set) are
// different work; the longest series of lines speaks.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace ocrtune {

struct StepCosts {
  double first_rate = 0, last_rate = 0;  // medians of the first and last lines; 0: too few
  double data_share = 0;                 // of the last lines; 0: not printed
  double first_data_share = 0;
  double first_loss = 0, last_loss = 0;  // likewise medians
  bool rate_is_zero = false;             // of learning: each of many lines printed 0
  bool reads_nothing = false;  // each of many lines printed an accuracy of 0, or a CER of 1

  bool fell() const { return last_rate > 0 && last_rate < 0.6 * first_rate; }
  // Guesses: by less than 1 % and not by nothing, which is an example's; a loss below 1 may have
  // been learnt before.
  bool stands_still() const {
    return first_loss > 1 && first_loss != last_loss && last_loss > 0.99 * first_loss &&
           last_loss < 1.01 * first_loss;
  }
};

class StepCostReader {
 public:
  void take_line(std::string_view line);
  StepCosts costs() const;

 private:
  struct Cost {
    double rate = 0, data_seconds = 0, step_seconds = 0, loss = 0;
  };
  struct Series {
    std::int64_t lines = 0;
    std::vector<Cost> first, last;  // the very first line is left out: a start
    std::size_t oldest = 0;         // of last, a ring
  };

  std::int64_t lines_ = 0;
  int lines_at_zero_ = 0, lines_at_a_rate_ = 0;   // of learning
  int lines_of_nothing_ = 0, lines_of_some_ = 0;  // accuracy
  std::map<std::int64_t, Series> series_;         // by the steps of its progress bar; 0: of no bar
};

}  // namespace ocrtune
