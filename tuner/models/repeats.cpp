// The noise is found twice. First it is found roughly, by steps from one repeat to the next, which
// a stray moves little. Then all repeats that are not far off by that count.
#include "tuner/models/repeats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/stats.h"

namespace ocrtune {
namespace {

constexpr std::size_t kPriorRepeats = 3;  // what the prior counts as
constexpr double kMiddle = 0.6745;        // half of all normal deviates are smaller
// Of trials, that load which no counter shows slows by far: one in thirty on the machines of
// bench/RESULTS.md. More than this share, at 95 %, are launches of the program that differ.
constexpr double kStrays = 0.05;
constexpr double kChance = 0.05;

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

// Whether single repeats that are far off come too often to be the load of others: then the next
// launch may be one of them.
bool recur(const std::vector<std::vector<double>>& settings, double far) {
  std::size_t strays = 0, trials = 0;
  for (const std::vector<double>& logs : settings) {
    const std::size_t off = logs.size() - near_ones(logs, far).size();
    strays += std::min(off, logs.size() / 2);  // of two halves, one
    trials += logs.size();
  }
  const double chance =
      binomial_at_least(static_cast<double>(strays), static_cast<double>(trials), kStrays);
  return strays > 1 && chance < kChance;
}

}  // namespace

double pooled_noise(const std::vector<std::vector<double>>& repeats, double prior) {
  std::vector<std::vector<double>> settings;
  // The prior takes part as so many steps of its own size.
  std::vector<double> steps(kPriorRepeats, kMiddle * prior);
  for (const std::vector<double>& rates : repeats) {
    if (rates.size() < 2) continue;
    settings.push_back(logs_of(rates));
    const std::vector<double>& logs = settings.back();
    for (std::size_t i = 1; i < logs.size(); ++i) {
      steps.push_back(spread_of_two(logs[i], logs[i - 1]));
    }
  }
  const double rough = std::max(prior, median(steps) / kMiddle);
  double far = kFarOff * rough;
  if (recur(settings, far)) far = std::numeric_limits<double>::infinity();
  double weight = kPriorRepeats;
  double squares = weight * prior * prior;
  for (const std::vector<double>& logs : settings) {
    const std::vector<double> kept = near_ones(logs, far);
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
  // Of two the higher is true, as other load only slows; the difference of two has sqrt(2) times
  // the noise.
  const double middle = std::log(pair ? highest : median(rates));
  const double far = kFarOff * noise * (pair ? std::sqrt(2.0) : 1.0);
  for (std::size_t i = 0; i < rates.size(); ++i) found[i] = std::log(rates[i]) < middle - far;
  return found;
}

}  // namespace ocrtune
