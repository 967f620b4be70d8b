// Does the search for the highest rate find the known capacity of simulated servers?
//
//   build/capacity_slo_search [runs for each server] [budget in scripted seconds] [service]
//
// With the mean seconds of a service (else 1 ms) the search is that of one trial of a sweep.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "bench/synthetic/simulated_server.h"
#include "extras/capacity/queueing.h"
#include "trial/workloads/service/arrivals.h"
#include "tuner/slo/slo_search.h"

namespace {

using namespace ocrtune;

struct Case {
  std::string name;
  int servers;
  std::function<double(Random&)> service;
  LatencySlo slo;
};

// Services of 1 in the mean.
double exponential(Random& random) { return random.exponential(1); }
double fixed(Random&) { return 1; }
double lognormal(Random& random) { return std::exp(0.5 * random.normal() - 0.125); }
double two_widths(Random& random) { return random.uniform() < 0.8 ? 0.7 : 2.2; }

double true_capacity(const Case& one) {
  QueueModel model;
  model.servers = one.servers;
  model.service = [&](Random& random, int) { return one.service(random); };
  // log(share over the limit) is nearly a line in the rate: fit it where it crosses 1 - p.
  const double near = highest_rate(model, one.slo, 1, 300000);
  std::vector<double> rates, logs;
  for (int i = -3; i <= 3; ++i) {
    rates.push_back(near * (1 + 0.006 * i));
    const auto seed = static_cast<std::uint64_t>(i) + 10;
    const QueueRun run =
        simulate_queue(model, take_arrivals(Arrivals::poisson(rates.back(), seed), 4000000), seed);
    double over = 0;
    for (const double latency : run.latency_seconds) over += latency > one.slo.seconds;
    logs.push_back(std::log(over / static_cast<double>(run.latency_seconds.size())));
  }
  const double mean_rate = mean(rates);
  double slope = 0, spread = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    slope += (rates[i] - mean_rate) * (logs[i] - mean(logs));
    spread += (rates[i] - mean_rate) * (rates[i] - mean_rate);
  }
  slope /= spread;
  return mean_rate + (std::log(1 - one.slo.percentile) - mean(logs)) / slope;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 20;
  const double budget = argc > 2 ? std::atof(argv[2]) : 3600;
  const bool trial = argc > 3;
  const double unit = trial ? std::atof(argv[3]) : 0.001;
  std::vector<Case> cases = {
      {"M/M/1, p99 under 20 services", 1, exponential, {0.99, 20}},
      {"M/M/4, p99 under 10 services", 4, exponential, {0.99, 10}},
      {"M/D/1, p99 under 8 services", 1, fixed, {0.99, 8}},
      {"M/D/8, p95 under 3 services", 8, fixed, {0.95, 3}},
      {"M/G/2, lognormal, p99 under 12 services", 2, lognormal, {0.99, 12}},
      {"M/G/8, two widths, p99 under 5 services", 8, two_widths, {0.99, 5}},
  };
  if (trial) {
    cases.push_back({"M/G/2, lognormal, p90 under 2.5 services", 2, lognormal, {0.9, 2.5}});
    cases.push_back({"M/G/2, two widths, p90 under 4 services", 2, two_widths, {0.9, 4}});
  }
  for (Case& one : cases) {
    one.slo.seconds *= unit;
    one.service = [unit, relative = one.service](Random& r) { return unit * relative(r); };
  }
  std::printf(
      "| server | capacity | claimed, median | error, median | error, worst | over the truth | "
      "probes | scripted s | nothing proved |\n|--|--|--|--|--|--|--|--|--|\n");
  int all = 0;
  int over = 0;
  std::vector<double> all_errors;
  for (const Case& one : cases) {
    const double truth = true_capacity(one);
    std::vector<double> claims, errors, probes, seconds;
    int nothing = 0;
    int above = 0;
    for (int run = 0; run < runs; ++run) {
      SimulatedService service;
      service.servers = one.servers;
      service.service_seconds = [&](Random& random, int) { return one.service(random); };
      service.seed = static_cast<std::uint64_t>(run) + 1;
      SimulatedServer server(service);
      SloSearchOptions options = trial ? search_of_a_trial() : SloSearchOptions();
      options.slo = one.slo;
      options.budget_seconds = budget;
      options.seed = static_cast<std::uint64_t>(run) * 7919 + 1;
      const auto found = find_highest_rate(server, server.clock(), options);
      nothing += !found || !found->found;
      if (!found || !found->found) continue;
      claims.push_back(found->requests_per_second);
      errors.push_back(std::abs(claims.back() / truth - 1));
      all_errors.push_back(errors.back());
      probes.push_back(static_cast<double>(found->probes.size()));
      seconds.push_back(server.clock().now_seconds());
      above += claims.back() > truth;
      ++all;
    }
    over += above;
    std::printf("| %s | %.3g/s | %.3g/s | %.1f %% | %.1f %% | %d of %d | %.0f | %.0f | %d |\n",
                one.name.c_str(), truth, median(claims), 100 * median(errors),
                100 * quantile(errors, 1), above, runs, median(probes), median(seconds), nothing);
    std::fflush(stdout);
  }
  std::printf("| all | | | %.1f %% | %.1f %% | %d of %d | | | |\n", 100 * median(all_errors),
              100 * quantile(all_errors, 1), over, all);
  return 0;
}
