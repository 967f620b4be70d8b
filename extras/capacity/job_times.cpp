// Every number of machines has a sorted list of ends, drawn once and kept. Trainings are drawn as a
// whole, since one interruption stops all; reading jobs machine by machine, and the last end
// counts.
#include "extras/capacity/job_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/random.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kJobSeed = 12;
constexpr int kFinishDraws = 5;        // for each draw of the rate
constexpr double kMachineDraws = 4e5;  // of a job that reads, over all machines and draws
constexpr double kMaxDeadlines = 4;    // a job that takes longer has no end

// Some may be infinite, so that nothing lies between two of them.
double rank_of(const std::vector<double>& ascending, double p) {
  const double rank = std::ceil(p * static_cast<double>(ascending.size()) - 1e-9);
  return ascending[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

JobTimes::JobTimes(const NodeMeasurement& node, TimedJob job, std::vector<double> draws,
                   ScalingFit fit)
    : node_(node), job_(job), draws_(std::move(draws)), fit_(std::move(fit)) {}

// Rates of so many machines: each draw of the node's rate with one of the fit's curves.
std::vector<double> JobTimes::rates(int machines) const {
  Random random(kJobSeed + 1);
  std::vector<double> rates;
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    double share = 1;  // of machines x one machine
    if (job_.trains && !node_.nodes.empty()) {
      const UslCurve& curve = fit_.draws[i % fit_.draws.size()];
      share = curve.at(machines) / (machines * curve.at(1));
    } else if (job_.trains && machines > 1) {
      const UslCurve& curve = fit_.draws[i % fit_.draws.size()];
      const double n = node_.knobs.nproc;
      const double loss = curve.at(n * machines) / (machines * curve.at(n));
      // Between no loss (exponent 0) and that of the node's own processes (1).
      share = std::pow(std::min(1.0, loss), random.uniform());
    }
    rates.push_back(draws_[i] * machines * share);
  }
  return rates;
}

// When so many machines are done, in each draw.
const JobTimes::Finishes& JobTimes::finishes(int machines) {
  const auto [found, added] = finishes_.try_emplace(machines);
  Finishes& all = found->second;
  if (!added) return all;
  job_.trains ? train(machines, all) : read(machines, all);
  std::sort(all.seconds.begin(), all.seconds.end());
  all.interruptions /= static_cast<double>(all.seconds.size());
  all.tail_seconds /= static_cast<double>(all.seconds.size());
  return all;
}

void JobTimes::train(int machines, Finishes& all) const {
  const Interruptions& stops = job_.interruptions;
  Random random(mix_bits(kJobSeed + static_cast<std::uint64_t>(machines)));
  for (const double rate : rates(machines)) {
    for (int i = 0; i < (stops.expected() ? kFinishDraws : 1); ++i) {
      const Finish finish = draw_finish(job_.samples / rate, node_.start_seconds,
                                        machines * draw_interruptions(stops, random), stops,
                                        kMaxDeadlines * job_.deadline_seconds, random);
      all.seconds.push_back(finish.seconds);
      all.interruptions += finish.interruptions;
    }
  }
}

// Each machine with a speed of its own, its own pages and its own interruptions.
void JobTimes::read(int machines, Finishes& all) const {
  Interruptions stops = job_.interruptions;
  // Results are kept page by page: at most a second of them is lost.
  if (stops.checkpoint_every_seconds <= 0) stops.checkpoint_every_seconds = 1;
  const double shard = job_.samples / machines;
  // The mean of a shard's pages varies less, the more there are.
  const double pages = job_.page_spread / std::sqrt(shard);
  // The more machines, the fewer draws: the time of a plan stays.
  const auto wanted = static_cast<std::size_t>(std::clamp(kMachineDraws / machines, 100.0, 2000.0));
  const std::size_t draws = std::min(wanted, (stops.expected() ? 5 : 1) * draws_.size());
  Random random(mix_bits(kJobSeed + static_cast<std::uint64_t>(machines)));
  for (std::size_t i = 0; i < draws; ++i) {
    const double rate = draws_[i % draws_.size()];
    const double per_second = draw_interruptions(stops, random);
    const double spread = std::hypot(kMachineSpread * draw_spread(random), pages);
    double last = 0, sum = 0;
    for (int machine = 0; machine < machines; ++machine) {
      const Finish finish =
          draw_finish(shard / rate * std::exp(spread * random.normal()), node_.start_seconds,
                      per_second, stops, kMaxDeadlines * job_.deadline_seconds, random);
      last = std::max(last, finish.seconds);
      sum += finish.seconds;
      all.interruptions += finish.interruptions;
    }
    all.seconds.push_back(last);
    if (std::isfinite(last)) all.tail_seconds += last - sum / machines;
  }
}

// More machines are never later where each reads a shard: the least is found by halving.
int JobTimes::machines_for(double share, int most) {
  const auto in_time = [&](int machines) {
    return rank_of(finishes(machines).seconds, share) <= job_.deadline_seconds;
  };
  // A training of more machines may be later, as they wait for each other: each count is tried.
  if (job_.trains) {
    for (int machines = 1; machines <= most; ++machines) {
      if (in_time(machines)) return machines;
    }
    return most + 1;
  }
  const double alone = job_.samples / median(draws_) / job_.deadline_seconds;
  int low = 0, high = static_cast<int>(std::clamp(std::ceil(alone), 1.0, most + 0.0));
  for (int step = 1; !in_time(high); step *= 2) {
    if (high == most) return most + 1;
    low = high;
    high = std::min(most, high + step);
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (in_time(middle) ? high : low) = middle;
  }
  return high;
}

JobRow JobTimes::row(int machines) {
  JobRow row;
  const auto together = rates(machines);
  const double tail = (1 - job_.confidence) / 2;
  row.samples_per_second = {median(together), quantile(together, tail),
                            quantile(together, 1 - tail)};
  const Finishes& all = finishes(machines);
  row.seconds = {rank_of(all.seconds, 0.5), rank_of(all.seconds, tail),
                 rank_of(all.seconds, 1 - tail)};
  const auto met = std::upper_bound(all.seconds.begin(), all.seconds.end(), job_.deadline_seconds);
  row.probability =
      static_cast<double>(met - all.seconds.begin()) / static_cast<double>(all.seconds.size());
  if (!std::isfinite(row.seconds.median)) return row;
  row.interruptions = all.interruptions;
  row.tail_seconds = all.tail_seconds;
  // That machines do not end together is no loss to interruptions.
  const double undisturbed = job_.samples / row.samples_per_second.median + row.tail_seconds;
  row.lost_share = std::max(0.0, 1 - undisturbed / row.seconds.median);
  return row;
}

}  // namespace ocrtune
