// A weighted line of least squares through logarithms of shares, and the share that is still
// provable by halving.
#include "tuner/slo/late_share.h"

#include <algorithm>
#include <cmath>

#include "base/stats.h"

namespace ocrtune {

double LateShareLine::rate_of(double share) const {
  return rate + (std::log(share) - log_share) / slope;
}

LateShareLine fit_late_share(const std::vector<LateShare>& seen) {
  double weights = 0;
  double rates = 0;
  double logs = 0;
  for (const LateShare& one : seen) {
    // The variance of a share's logarithm is about 1 over the late requests that were counted.
    const double weight = std::min(one.share * one.requests, 500.0);
    if (weight <= 0) continue;
    weights += weight;
    rates += weight * one.rate;
    logs += weight * std::log(one.share);
  }
  LateShareLine line;
  if (weights <= 0) return line;
  line.rate = rates / weights;
  line.log_share = logs / weights;
  double covariance = 0;
  double variance = 0;
  for (const LateShare& one : seen) {
    const double weight = std::min(one.share * one.requests, 500.0);
    if (weight <= 0) continue;
    covariance += weight * (one.rate - line.rate) * (std::log(one.share) - line.log_share);
    variance += weight * (one.rate - line.rate) * (one.rate - line.rate);
  }
  line.known = variance > 0 && covariance > 0;
  if (line.known) line.slope = covariance / variance;
  return line;
}

double provable_share(double allowed, double requests, double confidence) {
  const auto late_of = [&](double share) {
    return share * requests + std::sqrt(share * requests);  // one deviation of bad luck
  };
  double low = 0;
  double high = allowed;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    const bool proves =
        binomial_at_most(late_of(middle), requests, allowed) <= 1 - confidence + 1e-12;
    (proves ? low : high) = middle;
  }
  return low;
}

}  // namespace ocrtune
