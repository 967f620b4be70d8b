// What a step costs, by the numbers in a trainer's own lines: samples a second, and the share of
// its time that it waits for data. The first and the last of them, because slowness may grow.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ocrtune {

struct StepCosts {
  double first_rate = 0, last_rate = 0;  // medians of the first and last lines; 0: too few
  double data_share = 0;                 // of the last lines; 0: not printed
  double first_data_share = 0;
};

class StepCostReader {
 public:
  void take_line(std::string_view line);
  StepCosts costs() const;

 private:
  struct Cost {
    double rate = 0, data_seconds = 0, step_seconds = 0;
  };
  std::int64_t lines_ = 0;
  std::vector<Cost> first_, last_;  // the very first line is left out: a start
  std::size_t oldest_ = 0;          // of last_, a ring
};

}  // namespace ocrtune
