// What an extrapolation is worth: fit on the small counts, predict the largest measured one.
//
// Printed beside every extrapolated figure, and what bounds it: counts beyond the factor that was
// predicted well here are refused (valid_factor).
#pragma once

#include <vector>

#include "tuner/verdict/scaling.h"

namespace ocrtune {

struct BackTest {
  int fitted_up_to = 0;  // processes
  int predicted_at = 0;
  Interval predicted;    // samples per second
  double measured = 0;   // median at predicted_at
  double error = 0;      // predicted median / measured - 1
  bool covered = false;  // measured lies in the interval

  double factor() const { return static_cast<double>(predicted_at) / fitted_up_to; }
};

// One for every k below the largest count that leaves at least three counts to fit; the nearest
// extrapolation first. Empty with fewer than four counts.
std::vector<BackTest> back_tests(const std::vector<ScalingPoint>& points,
                                 const ScalingOptions& options = {});

inline constexpr double kMaxBackTestError = 0.15;

// How far beyond the largest measured count a prediction is backed: the largest factor() up to
// which every back-test is covered and off by at most kMaxBackTestError; 1 when none is.
double valid_factor(const std::vector<BackTest>& tests);

}  // namespace ocrtune
