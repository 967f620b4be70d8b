// Arrivals are dealt out to the machines as the balancer does it, and each machine is simulated by
// itself. With many requests a sample of machines is enough; speeds are sampled evenly from slow to
// fast, as the slow ones decide.
#include "extras/capacity/fleet_queue.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/random.h"
#include "base/stats.h"

namespace ocrtune {
namespace {

constexpr double kRequests = 250000;  // that are simulated at once, over all machines

// Speeds of `shown` of the machines, evenly taken from the slowest to the fastest.
std::vector<double> speeds_of(std::size_t machines, std::size_t shown, double spread,
                              std::uint64_t seed) {
  Random random(mix_bits(seed ^ mix_bits(machines)));
  std::vector<double> all;
  for (std::size_t i = 0; i < machines; ++i) all.push_back(std::exp(spread * random.normal()));
  if (shown == machines) return all;
  std::sort(all.begin(), all.end());
  std::vector<double> some;
  for (std::size_t i = 0; i < shown; ++i) some.push_back(all[(2 * i + 1) * machines / (2 * shown)]);
  return some;
}

// The arrivals at the first `shown` of so many machines.
std::vector<std::vector<double>> shares_of(const FleetDemand& demand, std::size_t machines,
                                           std::size_t shown, std::uint64_t seed) {
  std::vector<std::vector<double>> shares(shown);
  for (std::size_t i = 0; i < demand.arrivals.size(); ++i) {
    // By a hash of the number: the same request goes to the same machine of so many, whatever the
    // speeds.
    const std::size_t to =
        demand.balancer == Balancer::turns ? i % machines : mix_bits(seed + i) % machines;
    if (to < shown) shares[to].push_back(demand.arrivals[i]);
  }
  return shares;
}

}  // namespace

Result<Balancer> parse_balancer(const std::string& name) {
  if (name == "random") return Balancer::random;
  if (name == "turns") return Balancer::turns;
  return Error{ErrorKind::usage, "'" + name + "': random or turns"};
}

double fleet_latency(const QueueModel& model, const FleetDemand& demand, int machines,
                     double percentile, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(machines);
  const double requests =
      static_cast<double>(demand.arrivals.size()) * mean_requests(demand.requests_per_page);
  const auto shown = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::ceil(kRequests * machines / std::max(requests, 1.0))), 1,
      count);
  const auto shares = shares_of(demand, count, shown, seed);
  const auto speeds = speeds_of(count, shown, demand.machine_spread, seed);
  QueueModel machine = model;
  QueueRun all;
  for (std::size_t place = 0; place < shown; ++place) {
    machine.speed = model.speed * speeds[place];
    const auto one = simulate_pages(machine, shares[place], demand.requests_per_page, seed + place);
    // The queue is empty at the start: the first tenth is too good.
    const auto skipped = static_cast<std::ptrdiff_t>(one.latency_seconds.size() / 10);
    all.latency_seconds.insert(all.latency_seconds.end(), one.latency_seconds.begin() + skipped,
                               one.latency_seconds.end());
  }
  return latency_quantile(all, percentile, 0);
}

int fewest_machines(const QueueModel& model, const FleetDemand& demand, const LatencySlo& slo,
                    int guess, int limit, std::uint64_t seed) {
  const auto holds = [&](int machines) {
    return fleet_latency(model, demand, machines, slo.percentile, seed) <= slo.seconds;
  };
  int low = 0, high = std::clamp(guess, 1, limit);  // low: not enough
  // Doubling steps up from the guess, then down, then halving: few simulations where the guess is
  // near.
  for (int step = 1; !holds(high); step *= 2) {
    if (high == limit) return limit + 1;
    low = high;
    high = std::min(limit, high + step);
  }
  for (int step = 1; low == 0 && high > 1; step *= 2) {
    const int lower = std::max(1, high - step);
    if (!holds(lower)) {
      low = lower;
    } else {
      high = lower;
    }
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

double load_error(const std::vector<double>& arrivals) {
  constexpr std::size_t kBlocks = 20;
  if (arrivals.size() < 5 * kBlocks) return 0;
  const double span = arrivals.back() - arrivals.front();
  if (span <= 0) return 0;
  std::vector<double> counts(kBlocks, 0);
  for (const double at : arrivals) {
    const auto block = static_cast<std::size_t>((at - arrivals.front()) / span * kBlocks);
    counts[std::min(block, kBlocks - 1)] += 1;
  }
  std::vector<double> steps;
  for (std::size_t i = 1; i < kBlocks; ++i) steps.push_back(std::abs(counts[i] - counts[i - 1]));
  // By their median (x 1.4826: as if normal), since a day's shape has a few large ones.
  const double deviation = 1.4826 * median(steps) / std::sqrt(2.0);
  const double mean = static_cast<double>(arrivals.size()) / kBlocks;
  return deviation / std::sqrt(static_cast<double>(kBlocks)) / mean;
}

}  // namespace ocrtune
