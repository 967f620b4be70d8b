#include "tuner/models/repeats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/stats.h"

namespace ocrtune {
namespace {

constexpr double kFarOff = 3.5;           // deviations; no repeat of the same setting is so far off
constexpr std::size_t kPriorRepeats = 3;  // what the prior counts as
constexpr double kMiddle = 0.6745;        // half of all normal deviates are smaller

std::vector<double> logs_of(const std::vector<double>& rates) {
  std::vector<double> logs;
  for (const double rate : rates) logs.push_back(std::log(rate));
  return logs;
}

// Without those far from the middle.
std::vector<double> near_ones(const std::vector<double>& logs, double far) {
  const double middle = median(logs);
  std::vector<double> kept;
  for (const double value : logs) {
    if (std::fabs(value - middle) <= far) kept.push_back(value);
  }
  return kept;
}

}  // namespace

double pooled_noise(const std::vector<std::vector<double>>& repeats, double prior) {
  std::vector<std::vector<double>> settings;
  std::vector<double> steps(kPriorRepeats, kMiddle * prior);
  for (const std::vector<double>& rates : repeats) {
    if (rates.size() < 2) continue;
    settings.push_back(logs_of(rates));
    const std::vector<double>& logs = settings.back();
    for (std::size_t i = 1; i < logs.size(); ++i) {
      steps.push_back(std::fabs(logs[i] - logs[i - 1]) / std::sqrt(2.0));
    }
  }
  const double rough = std::max(prior, median(steps) / kMiddle);
  double weight = kPriorRepeats;
  double squares = weight * prior * prior;
  for (const std::vector<double>& logs : settings) {
    const std::vector<double> kept = near_ones(logs, kFarOff * rough);
    if (kept.size() < 2) continue;
    const double dof = static_cast<double>(kept.size()) - 1;
    squares += dof * stddev(kept) * stddev(kept);
    weight += dof;
  }
  return std::sqrt(squares / weight);
}

std::vector<bool> slowed(const std::vector<double>& rates, double noise) {
  std::vector<bool> found(rates.size(), false);
  if (rates.size() < 2) return found;
  const double highest = *std::max_element(rates.begin(), rates.end());
  const bool pair = rates.size() == 2;
  const double middle = std::log(pair ? highest : median(rates));
  const double far = kFarOff * noise * (pair ? std::sqrt(2.0) : 1.0);
  for (std::size_t i = 0; i < rates.size(); ++i) found[i] = std::log(rates[i]) < middle - far;
  return found;
}

}  // namespace ocrtune
