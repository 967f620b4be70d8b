#include "capacity/job_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kJobSeed = 12;
constexpr int kFinishDraws = 5;      // for each draw of the rate
constexpr int kMachinesInTurn = 4;   // more differ less from their mean
constexpr double kMaxDeadlines = 4;  // a job that takes longer has no end

// Some may be infinite, so that nothing lies between two of them.
double rank_of(const std::vector<double>& ascending, double p) {
  const double rank = std::ceil(p * static_cast<double>(ascending.size()) - 1e-9);
  return ascending[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

JobTimes::JobTimes(const NodeMeasurement& node, Job job, std::vector<double> draws, ScalingFit fit)
    : node_(node),
      job_(job),
      draws_(std::move(draws)),
      fit_(std::move(fit)),
      trains_(node.mode != "infer") {}

// Rates of so many machines: each draw of the node's rate with one of the fit's curves.
std::vector<double> JobTimes::rates(int machines) const {
  Random random(kJobSeed + 1);
  std::vector<double> rates;
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    double share = 1;  // of machines x one machine
    if (trains_ && !node_.nodes.empty()) {
      const UslCurve& curve = fit_.draws[i % fit_.draws.size()];
      share = curve.at(machines) / (machines * curve.at(1));
    } else if (trains_ && machines > 1) {
      const UslCurve& curve = fit_.draws[i % fit_.draws.size()];
      const double n = node_.knobs.nproc;
      const double loss = curve.at(n * machines) / (machines * curve.at(n));
      share = std::pow(std::min(1.0, loss), random.uniform());
    }
    rates.push_back(draws_[i] * machines * share);
  }
  return rates;
}

// When so many machines are done, in each draw. Machines that read share nothing: their times
// behind each other are one machine's.
const JobTimes::Finishes& JobTimes::finishes(int machines) {
  const auto [found, added] = finishes_.try_emplace(machines);
  Finishes& all = found->second;
  if (!added) return all;
  Interruptions stops = job_.interruptions;
  if (!trains_ && stops.checkpoint_every_seconds <= 0) stops.checkpoint_every_seconds = 1;
  const double in_turn = trains_ ? 1 : std::min(machines, kMachinesInTurn);
  const double together = trains_ ? machines : 1;
  Random random(mix_bits(kJobSeed + static_cast<std::uint64_t>(machines)));
  for (const double rate : rates(machines)) {
    for (int i = 0; i < (stops.expected() ? kFinishDraws : 1); ++i) {
      const Finish finish =
          draw_finish(in_turn * job_.samples / rate, in_turn * node_.start_seconds,
                      together * draw_interruptions(stops, random), stops,
                      in_turn * kMaxDeadlines * job_.deadline_seconds, random);
      all.seconds.push_back(finish.seconds / in_turn);
      all.interruptions += finish.interruptions;
    }
  }
  std::sort(all.seconds.begin(), all.seconds.end());
  all.interruptions /= static_cast<double>(all.seconds.size());
  return all;
}

int JobTimes::machines_for(double share, int most) {
  for (int machines = 1; machines <= most; ++machines) {
    if (rank_of(finishes(machines).seconds, share) <= job_.deadline_seconds) return machines;
  }
  return most + 1;
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
  const double undisturbed = job_.samples / row.samples_per_second.median;
  row.lost_share = std::max(0.0, 1 - undisturbed / row.seconds.median);
  return row;
}

std::vector<std::string> interruption_notes(const NodeMeasurement& node, const Interruptions& stops,
                                            double machines) {
  const bool trains = node.mode != "infer";
  std::vector<std::string> notes;
  if (!stops.expected()) {
    notes.emplace_back(
        "no interruptions are expected (--interruptions 8h: one every 8 hours of a machine)");
    return notes;
  }
  const std::string seen = stops.counted ? fmt::format("{:g} seen in {} of machines", stops.seen,
                                                       format_duration(stops.watched_seconds))
                                         : fmt::format("one every {} of a machine",
                                                       format_duration(stops.watched_seconds));
  notes.push_back(fmt::format("interruptions: {}, at any time alike; each stops {}", seen,
                              trains ? "the whole training" : "one machine"));
  if (stops.restart_seconds <= 0 && node.start_seconds <= 0) {
    notes.emplace_back("no start was measured: a restart is taken to take no time (--restart)");
  } else if (stops.restart_seconds <= 0) {
    notes.push_back(
        fmt::format("a restart takes {}, as the start of its trials did; waiting for another "
                    "machine comes on top (--restart)",
                    format_duration(node.start_seconds)));
  }
  if (stops.checkpoint_every_seconds <= 0 && !trains) {
    notes.emplace_back("results are kept as they come; what is lost is under a second");
    return notes;
  }
  if (stops.checkpoint_every_seconds <= 0) {
    notes.emplace_back(
        "no --checkpoint-every was given: what is interrupted starts from the beginning");
    return notes;
  }
  // Young 1974: the loss to checkpoints and the loss between them are least together.
  const double rate = stops.per_second() * (trains ? std::max(1.0, machines) : 1);
  const double best = rate > 0 ? std::sqrt(2 * stops.checkpoint_seconds / rate) : 0;
  if (best > 0) {
    notes.push_back(
        fmt::format("a checkpoint about every {} would lose least time", format_duration(best)));
  }
  return notes;
}

}  // namespace ocrtune
