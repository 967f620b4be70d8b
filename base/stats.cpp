// Plain textbook methods for small samples: everything sorts copies. The bootstrap draws from
// base/random.h, so that a stored run is computed to the same interval on every machine. Tails of
// counts go by the incomplete beta function, which also takes counts that are not whole.
#include "base/stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/random.h"

namespace ocrtune {
namespace {

std::vector<double> resample(const std::vector<double>& values, Random& random) {
  std::vector<double> drawn(values.size());
  const auto last = static_cast<std::int64_t>(values.size()) - 1;
  for (double& value : drawn) value = values[static_cast<std::size_t>(random.integer(0, last))];
  return drawn;
}

Interval percentile_interval(double centre, const std::vector<double>& draws, double confidence) {
  const double tail = (1 - confidence) / 2;
  return Interval{centre, quantile(draws, tail), quantile(draws, 1 - tail)};
}

// The continued fraction of the incomplete beta function, by Lentz's method.
// Source: Abramowitz and Stegun, 26.5.8.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto held = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / held(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int i = 1; i < 100000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / held(1 + even * d);
    c = held(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / held(1 + odd * d);
    c = held(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) < 1e-13) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast only up to here. Beyond it I_x(a, b) = 1 - I_(1-x)(b, a) is used.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double quantile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double share = place - static_cast<double>(below);
  return values[below] + share * (values[above] - values[below]);
}

double stddev(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double sum = 0;
  for (double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double median_absolute_deviation(const std::vector<double>& values) {
  const double centre = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (double value : values) distances.push_back(std::fabs(value - centre));
  // 1 / the 75 % quantile of the standard normal distribution.
  return 1.4826 * median(std::move(distances));
}

double median_error(double deviation, int count) {
  if (count < 1) return 0;
  // Standard error of the median over that of the mean, normal values; an even count's median is
  // the mean of two values.
  static constexpr std::array<double, 11> kRatio = {1,     1,     1,     1.160, 1.092, 1.198,
                                                    1.135, 1.214, 1.160, 1.223, 1.176};
  const auto size = static_cast<std::size_t>(count);
  // The limit, the root of pi / 2, from 11 values on: a few percent too wide at first.
  const double ratio = size < kRatio.size() ? kRatio[size] : 1.2533;
  return ratio * deviation / std::sqrt(static_cast<double>(count));
}

double t_quantile_95(double dof) {
  struct Row {
    double dof, errors;
  };
  // The 97.5 % quantiles of Student's t distribution, as every table of it has them.
  static constexpr std::array<Row, 15> kRows = {{{1, 12.706},
                                                 {2, 4.303},
                                                 {3, 3.182},
                                                 {4, 2.776},
                                                 {5, 2.571},
                                                 {6, 2.447},
                                                 {7, 2.365},
                                                 {8, 2.306},
                                                 {9, 2.262},
                                                 {10, 2.228},
                                                 {12, 2.179},
                                                 {15, 2.131},
                                                 {20, 2.086},
                                                 {30, 2.042},
                                                 {1e9, 1.960}}};
  if (dof <= 1) return kRows[0].errors;
  for (std::size_t i = 1; i < kRows.size(); ++i) {
    const Row &below = kRows[i - 1], &above = kRows[i];
    if (dof > above.dof) continue;
    // Straight in 1 / freedom, or nearly.
    const double share = (1 / below.dof - 1 / dof) / (1 / below.dof - 1 / above.dof);
    return below.errors + share * (above.errors - below.errors);
  }
  return kRows.back().errors;
}

Interval bootstrap_median(const std::vector<double>& values, double confidence, std::uint64_t seed,
                          int rounds) {
  const double centre = median(values);
  if (values.size() < 2) return Interval{centre, centre, centre};
  Random random(seed);
  std::vector<double> draws;
  for (int round = 0; round < rounds; ++round) draws.push_back(median(resample(values, random)));
  return percentile_interval(centre, draws, confidence);
}

Interval bootstrap_ratio(const std::vector<double>& a, const std::vector<double>& b,
                         double confidence, std::uint64_t seed, int rounds) {
  if (a.empty() || b.empty() || median(b) == 0) return Interval{};
  Random random(seed);
  std::vector<double> draws;
  for (int round = 0; round < rounds; ++round) {
    const double below = median(resample(b, random));
    // A resample of rates that are mostly zero has no ratio, and is left out.
    if (below != 0) draws.push_back(median(resample(a, random)) / below);
  }
  return percentile_interval(median(a) / median(b), draws, confidence);
}

double binomial_at_most(double successes, double trials, double share) {
  if (successes < 0) return 0;
  if (successes >= trials) return 1;
  return incomplete_beta(trials - successes, successes + 1, 1 - share);
}

double binomial_at_least(double successes, double trials, double share) {
  return 1 - binomial_at_most(successes - 1, trials, share);
}

}  // namespace ocrtune
