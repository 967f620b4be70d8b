// What a log dialect finds in one line.
#pragma once

#include <optional>
#include <string>

namespace ocrtune {

// What one line says; everything that it does not say is empty.
struct LogReading {
  std::optional<double> samples_per_second;
  std::optional<double> samples;  // in the interval that the line closes
  std::optional<double> seconds;  // of that interval
  std::optional<double> steps;    // in that interval
  std::optional<double> steps_per_second;
  std::optional<double> step_count;    // steps done so far; the line's arrival is the clock
  std::optional<double> sample_count;  // samples done so far; likewise
  std::optional<double> data_share;    // part of the time spent waiting for data
  std::optional<double> loss;
  bool partial = false;  // a known number, but of less than a printing interval: not a sample
  std::string counter;   // which counter the counts belong to
};

}  // namespace ocrtune
