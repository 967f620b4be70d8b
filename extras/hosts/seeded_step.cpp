// A robust outlier test on logarithms of rates. With few hosts their own spread tells nothing, so
// the windows' stands in its place.
#include "extras/hosts/seeded_step.h"

#include <algorithm>
#include <cmath>

#include "base/stats.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

constexpr std::size_t kManyHosts = 4;  // from here on their own spread is one
constexpr double kSlowLog = 0.05;
constexpr double kSlowDeviations = 3.5;
constexpr double kMinDeviation = 0.01;

std::vector<double> log_medians(const std::vector<HostRates>& hosts) {
  std::vector<double> logs;
  for (const HostRates& host : hosts) logs.push_back(std::log(std::max(1e-9, median(host.rates))));
  return logs;
}

// Of the windows of each host, the largest.
double window_deviation(const std::vector<HostRates>& hosts) {
  double most = 0;
  for (const HostRates& host : hosts) {
    std::vector<double> logs;
    for (const double rate : host.rates) logs.push_back(std::log(std::max(1e-9, rate)));
    most = std::max(most, median_absolute_deviation(logs));
  }
  return most;
}

double usual_log(const std::vector<double>& logs) {
  return logs.size() >= kManyHosts ? median(logs) : *std::max_element(logs.begin(), logs.end());
}

}  // namespace

Result<std::vector<double>> seeded_step_rates(int threads) {
  return engine_parts() == nullptr ? engine_elsewhere() : engine_parts()->step_rates(threads);
}

std::vector<std::size_t> slow_hosts(const std::vector<HostRates>& hosts) {
  std::vector<std::size_t> slow;
  if (hosts.size() < 2) return slow;
  const std::vector<double> logs = log_medians(hosts);
  const double deviation =
      std::max(kMinDeviation, hosts.size() >= kManyHosts ? median_absolute_deviation(logs)
                                                         : window_deviation(hosts));
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const double behind = usual_log(logs) - logs[i];
    if (behind > kSlowLog && behind > kSlowDeviations * deviation) slow.push_back(i);
  }
  return slow;
}

double usual_rate(const std::vector<HostRates>& hosts) {
  return hosts.empty() ? 0 : std::exp(usual_log(log_medians(hosts)));
}

}  // namespace ocrtune
