// The largest count is never fitted: it is what smaller ones are asked for. Three counts are the
// least for a curve of three parameters.
#include "extras/capacity/back_test.h"

#include <cmath>
#include <cstddef>

namespace ocrtune {

std::vector<BackTest> back_tests(const std::vector<ScalingPoint>& points,
                                 const ScalingOptions& options) {
  const std::vector<ScalingPoint> merged = merge_points(points);
  std::vector<BackTest> tests;
  if (merged.size() < 4) return tests;
  const ScalingPoint& last = merged.back();
  for (std::size_t kept = merged.size() - 1; kept >= 3; --kept) {
    const std::vector<ScalingPoint> small(merged.begin(),
                                          merged.begin() + static_cast<std::ptrdiff_t>(kept));
    const auto fit = fit_scaling(small, options);
    if (!fit) continue;
    BackTest test;
    test.fitted_up_to = small.back().processes;
    test.predicted_at = last.processes;
    test.predicted = predict_rate(*fit, last.processes);
    test.measured = median(last.samples_per_second);
    test.error = test.predicted.median / test.measured - 1;
    test.covered = test.predicted.low <= test.measured && test.measured <= test.predicted.high;
    tests.push_back(test);
  }
  return tests;
}

double valid_factor(const std::vector<BackTest>& tests) {
  double factor = 1;
  for (const BackTest& test : tests) {  // ascending factor
    if (!test.covered || std::abs(test.error) > kMaxBackTestError) break;
    factor = test.factor();
  }
  return factor;
}

}  // namespace ocrtune
