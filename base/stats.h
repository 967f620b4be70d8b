// Order statistics, resampling intervals and tails of counts: pure functions over numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace ocrtune {

// A median with the interval that covers it at the stated confidence.
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
};

double mean(const std::vector<double>& values);         // 0 when empty
double median(std::vector<double> values);              // 0 when empty
double quantile(std::vector<double> values, double p);  // linear between order statistics
double stddev(const std::vector<double>& values);       // sample standard deviation; 0 below 2
double median_absolute_deviation(const std::vector<double>& values);  // x 1.4826: sigma if normal

// Standard error of the median of `count` independent normal values with this deviation: 1.16 times
// that of their mean for 3, 1.20 for 5, 1.25 for many.
double median_error(double deviation, int count);

// Standard errors from the middle to either end of a 95 % interval, when the error itself comes
// from `dof` degrees of freedom (at least 1): 12.7 for 1, 2.78 for 4, 1.96 for many.
double t_quantile_95(double dof);

// Bootstrap percentile interval of the median. One value gives low = high = median; use the
// spread of comparable settings there. Same seed, same answer.
Interval bootstrap_median(const std::vector<double>& values, double confidence = 0.95,
                          std::uint64_t seed = 1, int rounds = 2000);

// Bootstrap interval of median(a) / median(b), resampling both.
Interval bootstrap_ratio(const std::vector<double>& a, const std::vector<double>& b,
                         double confidence = 0.95, std::uint64_t seed = 1, int rounds = 2000);

// P(X <= successes) and P(X >= successes) for X ~ Binomial(trials, share); trials and successes
// need not be whole.
double binomial_at_most(double successes, double trials, double share);
double binomial_at_least(double successes, double trials, double share);

}  // namespace ocrtune
