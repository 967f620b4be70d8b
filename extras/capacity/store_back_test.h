// Were plans right so far? What each stored run predicts for others of the same work on the same
// machine, beside what those measured.
//
// Three kinds of prediction, each with its 90 % interval, in which the measured figure's own error
// counts too: the rate of a setting on another day; the rate of more processes, from the counts
// below; and the rate that a setting serves within a latency target, from its saturated rate by way
// of the simulated queue, against the rate that a run under this target proved.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/stats.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

enum class PredictedFigure { rate, more_processes, served };
const char* predicted_figure_name(PredictedFigure figure);

struct StoreBackTest {
  PredictedFigure figure = PredictedFigure::rate;
  std::string from, against;  // runs
  Knobs knobs;
  std::string slo;  // of a served rate; else empty
  Interval predicted;
  double measured = 0;

  double error() const { return predicted.median / measured - 1; }
  bool held() const { return predicted.low <= measured && measured <= predicted.high; }
};

// `runs` judged, the oldest first: of two alike the earlier one predicts.
std::vector<StoreBackTest> store_back_tests(const std::vector<RunRecord>& runs,
                                            double confidence = 0.9);

struct StoreBackTestSummary {
  int tests = 0, held = 0;
  double median_error = 0, p90_error = 0;  // of their absolute errors
};
StoreBackTestSummary summary_of(const std::vector<StoreBackTest>& tests);

}  // namespace ocrtune
