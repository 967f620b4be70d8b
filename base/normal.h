// The normal distribution, and what rests on it: ratios of two quantities with intervals.
#pragma once

#include "base/stats.h"

namespace ocrtune {

inline constexpr double kNormal95 = 1.96;  // errors to either end of a 95 % interval

// Share of a standard normal variable that lies below `z`.
double normal_cdf(double z);

// a / b of two independent positive quantities, each with its 95 % interval, symmetric in the
// logarithm. All zero where one of them is not known.
Interval ratio_interval(const Interval& a, const Interval& b);
// How likely chance alone puts such a ratio so far from 1, on either side; 1 where it is not known.
double p_of_no_change(const Interval& ratio);

}  // namespace ocrtune
