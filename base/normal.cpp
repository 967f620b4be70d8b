// Ratios by the delta method on logarithms: the relative errors of two independent quantities add
// in squares.
#include "base/normal.h"

#include <cmath>
#include <numbers>

namespace ocrtune {

// erfc, not 1 - erf, keeps the digits of the lower tail.
double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double p_of_no_change(const Interval& ratio) {
  if (!(ratio.median > 0) || !(ratio.high > ratio.median)) return 1;
  // The interval's half width in logarithms is 1.96 standard errors.
  const double error = std::log(ratio.high / ratio.median) / kNormal95;
  return 2 * normal_cdf(-std::fabs(std::log(ratio.median)) / error);
}

Interval ratio_interval(const Interval& a, const Interval& b) {
  if (!(a.median > 0) || !(b.median > 0)) return {};
  const auto half = [](const Interval& one) { return std::log(one.high / one.median); };
  const double both = std::hypot(half(a), half(b));
  const double ratio = a.median / b.median;
  return {ratio, ratio * std::exp(-both), ratio * std::exp(both)};
}

}  // namespace ocrtune
