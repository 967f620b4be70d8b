// When requests come: an open loop, whose arrivals do not wait for answers.
//
// Poisson, or a recorded trace played at its own or another mean rate. Times are seconds from the
// start of the run, ascending, and never end: a trace begins again when it is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace ocrtune {

class Arrivals {
 public:
  static Arrivals poisson(double requests_per_second, std::uint64_t seed);
  // `seconds` ascending, at least two, of a span above zero. A rate above zero stretches or
  // squeezes the trace to that mean; 0 keeps its own.
  static Arrivals trace(std::vector<double> seconds, double requests_per_second = 0);

  double next();

 private:
  Arrivals(double mean_gap, std::uint64_t seed) : gap_seconds_(mean_gap), random_(seed) {}

  double gap_seconds_ = 1;  // mean time between two
  double now_ = 0;
  std::vector<double> trace_;  // from 0, already stretched; empty: Poisson
  std::size_t place_ = 0;
  double round_start_ = 0;
  Random random_;
};

std::vector<double> take_arrivals(Arrivals arrivals, std::size_t count);

// A recorded trace: one arrival a line, its time in seconds as the first comma-separated field; a
// first line of words and lines that begin with # are passed over; order does not matter. Gives
// the times from 0, ascending; `began` (may be null) gets the first one's own time. Errors
// (invalid) name the line.
Result<std::vector<double>> read_trace(const std::string& path, double* began = nullptr);

// Requests per second over the span of a trace.
double trace_rate(const std::vector<double>& seconds);

// The mean rate within the busiest `window_seconds` of a trace; `begins` (may be null) gets when
// that begins.
double busiest_rate(const std::vector<double>& seconds, double window_seconds,
                    double* begins = nullptr);

// Which kind of request comes next: drawn by weight.
class KindDraw {
 public:
  KindDraw(const std::vector<double>& weights, std::uint64_t seed);
  int next();  // 0 with fewer than two weights

 private:
  std::vector<double> upper_;  // running sums
  Random random_;
};

}  // namespace ocrtune
